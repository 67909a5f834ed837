"""The names of others that are not public: a module a library, and no face.

Who imports one library's names must not import the others with them.
"""
