"""Answers to questions, written by a model from what the index holds. See README.md."""
