"""Risk per hit: whether a tenant's domain may serve, and from which verifier score up. Pure; docs/risk.md derives it."""
