"""What the process shows of itself over HTTP: probes and metrics. Reads `Stats` and touches nothing else."""
