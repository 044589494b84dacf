"""Comparing two answers to one question: do they tell the same? Pure; knows no models and no stores."""
