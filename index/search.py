"""From a question to hits: rankings of one engine, fused, routed and cited."""
