"""The names of others that are not public: a module for each library.

Who imports one library's names must not import the others with them.
"""
