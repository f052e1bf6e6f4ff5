"""The kit for writing dialects: public, the same for built-in and installed dialects.

Each module is used by its own name and imported when it is needed:

| module | for |
|---|---|
| `json_lines` | JSON Lines as a stream: strict, each defect with its line and field |
| `yaml_documents` | YAML whose every value knows its line, strict as JSON is |
| `written_cases` | YAML files with one case or a list of them |
| `file_shapes` | recognising a file that is not JSON Lines, by its real format |
| `looking` | telling files of a dialect by their beginning, which never raises |
| `taken_ids` | ids that are unique in a suite, whatever its size |
| `unknown_keys`, `foreign_names` | unknown keys: typos, other tools' names, custom keys |
| `schemas` | reporting what a pydantic model refuses, and reading `prompts.options` |
| `templates` | putting untrusted text into a prompt, and delimiters that it can't hold |
| `one_request` | methods of a dialect whose cases are one request without a judge |
| `cut_off` | the class of a reply that was cut off, and its score under `grading.on_cut_off` |
| `refusal` | whether a reply declines, and with which words |
| `json_in_prose` | the JSON object that a model's reply holds |
| `judging` | judges with a checklist and quotations that are checked |

Beside it a dialect uses `failproof_es.dialects.protocol`, `failproof_es.case`,
`failproof_es.evaluation`, `failproof_es.problems` and `failproof_es.declared_gates`, and nothing
else of ours. A kit module changes what it does only with the version of the classifiers that use
it; names are taken away one minor version after a warning.
"""
