"""The interfaces of specification 003, and their implementation on the engine.

`benchmark_api`, `data_manager_api`, `dataset_loader_api`, `llm_manager_api`, `prompt_api`,
`task_manager_api`, `types` and `enums` are the specification's own and import nothing of ours
but each other. `benchmark.open_benchmark` gives an implementation of `BenchmarkApi`.
"""
