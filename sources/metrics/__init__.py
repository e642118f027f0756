"""What a refresh leaves for Prometheus to collect."""
