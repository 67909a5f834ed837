"""The paper's problems, peers, runner and tables."""
