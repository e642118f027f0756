"""The index: model, store, engines, embedders, text and search. Knows neither Matrix nor git."""
