"""What a dialect is made with: public, and the same for ours and for those of other packages.

Each module is used by its own name and imported when it is needed:

| module | for |
|---|---|
| `json_lines` | JSON Lines as a stream: strict, each defect with its line and field |
| `yaml_documents` | YAML whose every value knows its line, strict as JSON is |
| `file_shapes` | what a file is that was given for JSON Lines and is none |
| `looking` | telling files of a dialect by their beginning, which never raises |
| `taken_ids` | ids that are unique in a suite, whatever its size |
| `unknown_keys`, `foreign_names` | keys nobody reads: slips, other tools' names, somebody's own |
| `templates` | putting untrusted text into a prompt, and delimiters that it can't hold |
| `cut_off` | what becomes of a reply that was cut off: never a failure |
| `refusal` | whether a reply declines, and with which words |
| `json_in_prose` | the JSON object that a model's reply holds |
| `judging` | judges with a checklist and quotations that are checked |

Beside it a dialect uses `failproof_es.dialects.protocol`, `failproof_es.case`,
`failproof_es.evaluation`, `failproof_es.problems` and `failproof_es.declared_gates`, and nothing
else of ours. A kit module changes what it does only with the version of the classifiers that use
it; names are taken away one minor version after a warning.
"""
