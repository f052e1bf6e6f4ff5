"""Everything that the catalog says of the log's schemas, as lines that two databases share or not.

More than `failproof_es.store.schema.definitions` compares: owners, grants, comments, sequences,
enabled triggers, settings and memberships of roles, too. Of a column its place is left out: an
upgrade cannot put one in the middle.
"""

from __future__ import annotations

from typing import Any

import psycopg

_RELATIONS = (
    "SELECT c.oid, c.relname, c.relkind, c.relowner, c.relacl, c.relrowsecurity, "
    "c.relforcerowsecurity, c.reloptions, c.relpersistence, n.nspname "
    "FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
    "WHERE n.nspname = ANY (%(schemas)s)"
)
_GRANT = (
    "(SELECT string_agg(format('%%s to %%s%%s', a.privilege_type, "
    "CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE a.grantee::regrole::text END, "
    "CASE WHEN a.is_grantable THEN ' *' ELSE '' END), ', ' "
    "ORDER BY a.privilege_type, a.grantee::regrole::text) FROM aclexplode({acl}) AS a)"
)


def _grants(acl: str) -> str:
    return _GRANT.format(acl=acl)


_QUERIES = {
    "schema": "SELECT nspname, nspowner::regrole, "
    + _grants("coalesce(nspacl, acldefault('n', nspowner))")
    + ", obj_description(oid, 'pg_namespace') FROM pg_namespace WHERE nspname = ANY (%(schemas)s)",
    "relation": "SELECT nspname, relname, relkind, relowner::regrole, relrowsecurity, "
    "relforcerowsecurity, reloptions, relpersistence, "
    + _grants(
        "coalesce(relacl, acldefault("
        "(CASE relkind WHEN 'S' THEN 's' ELSE 'r' END)::\"char\", relowner))"
    )
    + ", obj_description(oid, 'pg_class'), "
    "CASE WHEN relkind IN ('v', 'm') THEN pg_get_viewdef(oid) END "
    f"FROM ({_RELATIONS}) AS r WHERE relkind <> 'i'",
    "column": "SELECT nspname, relname, attname, format_type(atttypid, atttypmod), attnotnull, "
    "attidentity, attgenerated, attstorage, attcompression, attcollation::regcollation, "
    "pg_get_expr(adbin, adrelid), col_description(r.oid, attnum), "
    + _grants("attacl")
    + f" FROM ({_RELATIONS}) AS r JOIN pg_attribute ON attrelid = r.oid AND attnum > 0 "
    "AND NOT attisdropped LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum "
    "WHERE relkind NOT IN ('i', 'S')",
    "sequence": "SELECT nspname, relname, seqtypid::regtype, seqstart, seqincrement, seqmax, "
    f"seqmin, seqcache, seqcycle FROM ({_RELATIONS}) AS r JOIN pg_sequence ON seqrelid = r.oid",
    "constraint": "SELECT nspname, relname, conname, contype, convalidated, condeferrable, "
    "pg_get_constraintdef(k.oid), obj_description(k.oid, 'pg_constraint') "
    f"FROM ({_RELATIONS}) AS r JOIN pg_constraint k ON k.conrelid = r.oid",
    "index": "SELECT nspname, relname, pg_get_indexdef(oid), "
    f"obj_description(oid, 'pg_class') FROM ({_RELATIONS}) AS r WHERE relkind = 'i'",
    "trigger": "SELECT nspname, relname, tgname, tgenabled, pg_get_triggerdef(t.oid) "
    f"FROM ({_RELATIONS}) AS r JOIN pg_trigger t ON tgrelid = r.oid AND NOT tgisinternal",
    "rule": "SELECT nspname, relname, rulename, ev_enabled, pg_get_ruledef(w.oid) "
    f"FROM ({_RELATIONS}) AS r JOIN pg_rewrite w ON ev_class = r.oid",
    "policy": "SELECT nspname, relname, polname, polcmd, polpermissive, polroles::regrole[], "
    "pg_get_expr(polqual, polrelid), pg_get_expr(polwithcheck, polrelid) "
    f"FROM ({_RELATIONS}) AS r JOIN pg_policy ON polrelid = r.oid",
    "function": "SELECT p.oid::regprocedure, proowner::regrole, pg_get_functiondef(p.oid), "
    + _grants("coalesce(proacl, acldefault('f', proowner))")
    + ", obj_description(p.oid, 'pg_proc') FROM pg_proc p JOIN pg_namespace n "
    "ON n.oid = pronamespace WHERE n.nspname = ANY (%(schemas)s) AND prokind IN ('f', 'p')",
    "type": "SELECT n.nspname, typname, typtype, typowner::regrole, "
    + _grants("coalesce(typacl, acldefault('T', typowner))")
    + " FROM pg_type t JOIN pg_namespace n ON n.oid = typnamespace "
    "WHERE n.nspname = ANY (%(schemas)s)",
    "event trigger": "SELECT evtname, evtevent, evtowner::regrole, evtfoid::regprocedure, "
    "evtenabled, evttags FROM pg_event_trigger",
    "default privilege": "SELECT defaclrole::regrole, defaclnamespace::regnamespace, "
    "defaclobjtype, " + _grants("defaclacl") + " FROM pg_default_acl",
    "role": "SELECT rolname, rolsuper, rolinherit, rolcreaterole, rolcreatedb, rolcanlogin, "
    "rolreplication, rolbypassrls, rolconnlimit FROM pg_roles WHERE rolname LIKE 'failproof%%'",
    "membership": "SELECT roleid::regrole, member::regrole, admin_option FROM pg_auth_members "
    "WHERE roleid::regrole::text LIKE 'failproof%%' OR member::regrole::text LIKE 'failproof%%'",
    "setting": "SELECT setdatabase <> 0, setrole::regrole, setconfig FROM pg_db_role_setting",
    "database": "SELECT datdba::regrole, "
    + _grants("coalesce(datacl, acldefault('d', datdba))")
    + " FROM pg_database WHERE datname = current_database()",
    "migration": "SELECT number, name, sha256 FROM failproof.migrations",
    "installation": "SELECT sha256, problems FROM failproof.installations "
    "ORDER BY installed_at DESC LIMIT 1",
}


def catalog(connection: psycopg.Connection[Any]) -> list[str]:
    """A line for each object, sorted."""
    rows = connection.execute(
        "SELECT nspname FROM pg_namespace WHERE nspname !~ '^(pg_|information_schema$|public$)'"
    ).fetchall()
    schemas = [name for (name,) in rows]
    lines = []
    with connection.transaction():
        connection.execute("SET LOCAL search_path = pg_catalog")
        for kind, query in _QUERIES.items():
            for row in connection.execute(query, {"schemas": schemas}):
                lines.append(f"{kind}: " + " | ".join(str(value) for value in row))
    return sorted(lines)
