"""What deploy/grafana/dashboard.json is made from: python -m tests.dashboard > deploy/grafana/dashboard.json."""
