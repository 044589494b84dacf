"""Tests of what leaves a deployment and comes back to it."""
