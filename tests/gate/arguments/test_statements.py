"""Statements are judged in every text of a call; quotes hide nothing that some dialect may not read as quotes."""

from __future__ import annotations

import json

import pytest

from gate.arguments.statements import class_of_statements
from gate.rules.action import CallClass, Decision, Json, Verdict
from gate.rules.always_gated import ALWAYS
from gate.rules.policy import Policy, Rule, decide
from gate.rules.tool import Hints, ToolSpec
from tests.cpu_time import seconds
from tools.mcp.schema import problems

READS = Hints(read_only=True, open_world=False)
READ, WRITE, DESTRUCTIVE = CallClass.READ, CallClass.WRITE, CallClass.DESTRUCTIVE


def judged(name: str, args: Json, *rules: Rule, about: str = "") -> Decision:
    spec = ToolSpec("s", name, name, about, {}, "d", hints=READS)
    return decide(
        Policy("v", (*ALWAYS, *rules)), spec, args, "C1", lambda schema, value: not problems(schema, value)
    )


BLINDS = [
    "SELECT $$'$$; {}; SELECT $$'$$",
    "SELECT $a$ it's $a$; {}; SELECT $a$ it's $a$",
    "SELECT 1 AS [']; {}; SELECT 1 AS [']",
    "SELECT 1 AS `'`; {}; SELECT 1 AS `'`",
    'SELECT 1 AS `"`; {}; SELECT 1 AS `"`',
    "SELECT 1 # '\n; {} # '",
    "SELECT 1 // '\n; {} // '",
    r"SELECT E'\''; {}; SELECT E'\''",
    r"SELECT '\'', '; {}; SELECT ' \'",
    "SELECT q'[']'; {}; SELECT q'[']'",
    "SELECT Q'{{'}}'; {}; SELECT Q'{{'}}'",
    r"SELECT U&'\0027'; {}; SELECT ''",
    "SELECT ''' ' '''; {}; SELECT ''' '''",
    "SELECT 1 /* ' */; {}; /* ' */",
    "SELECT 1 /*! ' */; {}; /*! ' */",
    "SELECT 1 /* /* */ ' */; {}; /* ' */",
    "SELECT 1 -- '\n; {}; -- '",
    "SELECT '; {}",
    'SELECT "; {}',
    "SELECT ＇'＇; {}; SELECT ＇'＇",
    "SELECT '\n'; {}; SELECT '\n'",
    "SELECT {{'}}; {}; SELECT {{'}}",
    "SELECT ~'; {}; SELECT ~'",
]
SECOND = ["DELETE FROM users", "COMMIT", "PRAGMA user_version=3", "SELECT 2", "DO $x$ begin end $x$", "x"]


@pytest.mark.parametrize("blind", BLINDS)
@pytest.mark.parametrize("second", SECOND)
def test_no_quote_of_any_dialect_hides_a_second_statement(blind: str, second: str) -> None:
    for gap in ("", " " * 100, "/* x */"):
        statement = blind.format(gap + second + gap)
        for name in ("query", "query_database", "execute_sql", "read_query"):
            for argument in ("sql", "query"):
                assert judged(name, {argument: statement}).verdict is Verdict.TYPED, statement


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT 1 RESTORE DATABASE x",
        "SELECT 1 KILL 52",
        "SELECT 1 SHUTDOWN",
        "SELECT 1 EXEC sp_who",
        "SELECT 1\nGO\nsp_who",
        "SELECT 1 BACKUP DATABASE x TO DISK = 'y'",
        "SELECT * INTO b FROM a",
        "DESC ANALYZE DELETE FROM a",
        "DESCRIBE ANALYZE UPDATE a SET b = 1",
        "EXPLAIN ANALYZE DELETE FROM a",
        "EXPLAIN (ANALYZE) INSERT INTO a VALUES (1)",
        "SHOW TABLES DELETE FROM a",
        "PRAGMA user_version=1",
        "ATTACH 'x' AS y",
        "COPY a TO PROGRAM 'sh'",
        "CALL p()",
        "DO $$ BEGIN END $$",
        r"SELECT 1 \G SELECT 2",
        r"SELECT 1 \! touch x",
        r"SELECT '\' , ' \! touch x'",
        "SELECT pg_terminate_backend(1)",
        "SELECT dblink_exec('x', 'y')",
        "SELECT load_extension('x')",
        "SELECT xp_cmdshell('x')",
        "SELECT writefile('a', 'b')",
        ";DELETE FROM a",
        "(SELECT 1) DELETE FROM a",
        "/**/ VACUUM",
        "WITH x AS (SELECT 1) DELETE FROM a",
    ],
)
def test_a_change_that_needs_no_second_statement_is_typed_for(statement: str) -> None:
    for name, argument in (("query", "sql"), ("query_database", "query"), ("run_sql", "sql")):
        assert judged(name, {argument: statement}).verdict is Verdict.TYPED


HONEST = [
    "SELECT name FROM users WHERE id = 3 ORDER BY name",
    "SELECT name FROM users WHERE name = 'O''Hara; DELETE FROM a' AND deleted = 0;",
    'SELECT updated_at, deleted, created_at FROM users u WHERE u."update" > 1 ;',
    "EXPLAIN SELECT * FROM a",
    "WITH x AS (SELECT 1 AS n) SELECT n FROM x WHERE n IN ('set', 'delete')",
    "(SELECT 1) UNION (SELECT 2)",
    "SELECT count(*) FROM notes WHERE title LIKE '%delete from%'",
    "select replace(name, 'a', 'b') from users where n = $1",
    "SHOW CREATE TABLE a",
    "DESCRIBE users",
    "VALUES (1), (2)",
    "SELECT [name] FROM users",
    "SELECT `name` FROM `users` LIMIT 5",
    r"SELECT name FROM users WHERE name ~ '^\d+$'",
    "SELECT 'Müller' AS name",
    "SELECT a::date, b - 1, c / 2 FROM t WHERE x->>'y' = 'z'",
    "SELECT COUNT (DISTINCT a), coalesce(sum(b), 0)::numeric(10,2) FROM t GROUP BY lower(trim(c))",
    "WITH RECURSIVE t(n, m) AS (SELECT 1, 2 UNION ALL SELECT n + 1, m FROM t WHERE n < 9), u(x) AS (SELECT n FROM t) SELECT *",
    "SELECT row_number() OVER (PARTITION BY a ORDER BY b) FROM (VALUES (1, 2), (3, 4)) AS v(a, b) WHERE EXISTS (SELECT 1)",
    "SELECT ST_AsText(geom), pg_catalog.pg_get_viewdef(oid) FROM places WHERE NOT (a IN (1) AND (b OR c))",
    "EXPLAIN (FORMAT JSON) SELECT jsonb_path_query(data, '$.evil(x)') FROM t",
]


@pytest.mark.parametrize("statement", HONEST)
def test_an_honest_query_runs_without_a_card(statement: str) -> None:
    for name, argument in (("query", "sql"), ("query_database", "query"), ("read_query", "query")):
        assert judged(name, {argument: statement}).verdict is Verdict.RUN


@pytest.mark.parametrize(
    "called",
    [
        "archive_old_orders()",
        "archive_old_orders ()",
        "billing.refund(order_id) FROM orders",
        "query_to_xml('select 1', true, false, '')",
        "a, (SELECT lower(purge(b))) FROM t",
        "* FROM close_month(2) AS (a int)",
        "* FROM a CROSS JOIN LATERAL close_month (a.n) m",
        '"close_month"(2)',
        "`close_month`(2)",
        "[dbo].[close_month](2)",
        "schließe_monat(2)",
        "1st_month(2)",
        "a+close_month(2)",
        "@@close(2)",
        "close_month" + " " * 91 + "(2)",
        '"close_month"' + " " * 200 + "(2)",
        "* FROM close_month(1) AS (values int)",
        "x.count(y)",
        "1 WHERE pg_sleep(9) IS NULL",
        "abs(1), " * 1_000 + "close_month(2)",
    ],
)
def test_a_query_that_calls_a_function_nobody_knows_is_asked_about(called: str) -> None:
    statement = f"SELECT {called}"
    for name, argument in (("query", "sql"), ("query", "query"), ("run_sql", "x"), ("postgres_get", "query")):
        assert judged(name, {argument: statement}).verdict is not Verdict.RUN, (name, argument)
    assert judged("query_rows", {"sql": f"WITH a AS ({statement}) SELECT 1"}).verdict is not Verdict.RUN


@pytest.mark.parametrize(
    "statement",
    [
        "REASSIGN OWNED BY a TO b",
        "REFRESH MATERIALIZED VIEW v",
        "COMMENT ON TABLE a IS 'b'",
        "SECURITY LABEL ON TABLE a IS 'b'",
        "OPTIMIZE TABLE a",
        "repair table a",
        "DISCARD ALL",
    ],
)
def test_a_statement_that_reads_as_prose_is_asked_about(statement: str) -> None:
    for name in ("db_query", "database_query", "query", "run_sql"):
        assert judged(name, {"query": statement}).verdict is not Verdict.RUN, name


D = "DELETE FROM users WHERE n=1"


@pytest.mark.parametrize(
    ("name", "args", "verdict"),
    [
        ("query_database", {"sql_query": D}, Verdict.TYPED),
        ("read_sql", {"query_text": D}, Verdict.TYPED),
        ("read_data", {"query": D}, Verdict.TYPED),
        ("read_data", {"query": "DROP TABLE users"}, Verdict.TYPED),
        ("read_data", {"query": "SELECT a FROM b; PRAGMA user_version = 2"}, Verdict.CONFIRM),
        ("read_data", {"q": {"text": "UPDATE users SET a = 1"}}, Verdict.CONFIRM),
        ("query_sqlite", {"request": {"sql": D}}, Verdict.TYPED),
        ("query_db", {"queries": [{"sql": D}]}, Verdict.TYPED),
        ("query_db", {"request": f'{{"sql": "{D}"}}'}, Verdict.TYPED),
        ("query_db", {"request": '{"sql": "SELECT 1"}'}, Verdict.RUN),
        ("get_rows", {"options": {"deep": [{"x": D}]}}, Verdict.CONFIRM),
        ("get_rows", {"x": "  /* a */\n(DELETE/**/FROM a"}, Verdict.CONFIRM),
        ("get_rows", {"x": "-- a\nINSERT INTO a VALUES (1)"}, Verdict.CONFIRM),
        ("get_rows", {"x": "explain analyze update a set b = 1"}, Verdict.CONFIRM),
        ("get_rows", {"x": "SELECT 1 TRUNCATE TABLE a"}, Verdict.CONFIRM),
        ("get_rows", {"x": "DROP" + " " * 100 + "TABLE a"}, Verdict.CONFIRM),
        ("get_rows", {"x": "CREATE OR REPLACE FUNCTION f() ..."}, Verdict.CONFIRM),
        ("get_rows", {"x": "a; GRANT ALL ON a TO b"}, Verdict.CONFIRM),
        ("get_rows", {"x": "ALTER TABLE a ADD b int"}, Verdict.CONFIRM),
        ("get_rows", {"x": "MERGE INTO a USING b ON 1=1"}, Verdict.CONFIRM),
        ("get_rows", {"x": "REPLACE INTO a VALUES (1)"}, Verdict.CONFIRM),
        ("get_rows", {"x": "mutation { deleteUser(id: 1) }"}, Verdict.CONFIRM),
        ("get_rows", {"sql": "VACUUM"}, Verdict.TYPED),
        ("search_messages", {"query": "who may update the set of rules"}, Verdict.RUN),
        ("search_messages", {"query": "explain how to delete a row; and then"}, Verdict.RUN),
        ("get_page", {"title": "How to delete from a list, or drop a table"}, Verdict.RUN),
    ],
)
def test_a_statement_is_found_in_whatever_argument_it_stands(name: str, args: Json, verdict: Verdict) -> None:
    assert judged(name, args).verdict is verdict


@pytest.mark.parametrize(
    "blank",
    ["\ufeff", "\xa0", "\u2003", "\u3000", "\x85", "\u200b", "\0", "\x1f", "\x01", "\x7f", "\xad", "\u180e"],
)
def test_no_blank_of_unicode_before_a_statement_hides_it(blank: str) -> None:
    """SQLite skips a byte order mark, DuckDB and BigQuery all that Unicode calls a blank."""
    assert judged("find_rows", {"where": f"id=1;{blank}{D} WHERE id=1"}).verdict is Verdict.CONFIRM
    assert judged("sqlite_lookup", {"input": f"{blank}{D}"}).verdict is Verdict.TYPED
    assert judged("list_rows", {"condition": f"id = 1; DROP{blank}TABLE users"}).verdict is Verdict.CONFIRM


@pytest.mark.parametrize("key", ["\x15", "\x03", "\x1b", "\x1f", "\x7f"])
def test_a_key_of_a_terminal_in_quotes_leaves_a_statement_behind_it_one(key: str) -> None:
    """Ctrl+U takes back the line that a server types into a terminal's client: the quote is no more before it."""
    assert judged("query_database", {"query": f"SELECT '{key}{D}; '"}).verdict is Verdict.TYPED
    assert judged("query_sqlite", {"sql": f"SELECT '{key}{D}; '"}).verdict is Verdict.TYPED


@pytest.mark.parametrize(
    "beside", [{"command": "cat"}, {"cmd": "ls"}, {"argv": ["cat"]}, {"exec": "git status"}]
)
def test_a_command_that_only_looks_clears_no_statement_beside_it(beside: dict[str, Json]) -> None:
    for args in ({"queries": ["DELETE FROM users"]}, {"sql": "DROP TABLE users"}):
        assert judged("query_database", {**args, **beside}).verdict is Verdict.TYPED


@pytest.mark.parametrize(
    "called",
    [
        '"lo_unlink"(4711)',
        '"lo_unlink" (4711)',
        'pg_catalog."lo_unlink"(1)',
        '"setval"(1, 2)',
        "`load_file`('a')",
    ],
)
def test_a_function_that_writes_is_found_in_quotes_as_well(called: str) -> None:
    for name, argument in (("query", "sql"), ("query_database", "query")):
        assert judged(name, {argument: f"SELECT {called}"}).verdict is Verdict.TYPED


@pytest.mark.parametrize("name", ["neo4j_query", "query_mongodb", "mssql_query", "query_database", "query"])
@pytest.mark.parametrize(
    "text",
    [
        "MATCH (n) DELETE n",
        "MATCH (n) DETACH DELETE n",
        "MATCH (n:User) SET n.admin = true",
        "MATCH (n) REMOVE n.name",
        "CREATE (n:User)",
        ",mutation{deleteUser(id:1)}",
        "query Q { me { id } } mutation M { deleteAll }",
        "WHILE 1=1 DELETE FROM users",
        "x: DELETE FROM users",
        "db.users.deleteMany({})",
        "sp_executesql N'DROP TABLE a'",
        "PREFIX : <a> DELETE WHERE { ?a ?b ?c }",
    ],
)
def test_statements_of_other_languages_that_change_something_are_typed_for(name: str, text: str) -> None:
    assert judged(name, {"query": text}).verdict is Verdict.TYPED


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("read_neo4j_query", "MATCH (n:User)-[:KNOWS]->(m) RETURN n, m LIMIT 5"),
        ("read_neo4j_query", "OPTIONAL MATCH (n {name: 'a'}) RETURN n;"),
        ("query_mongodb", "db.users.find({status: 'new'})"),
        ("query_graphql", "query Q { viewer { login createdAt } }"),
        ("query_graphql", "{ me { id } }"),
        ("query_prometheus", 'sum(rate(http_requests_total{job="api"}[5m])) by (job)'),
        ("query_issues", "status = Open AND assignee = me ORDER BY created"),
        ("query_docs", "describe how to install it"),
    ],
)
def test_what_only_looks_in_another_language_runs_without_a_card(name: str, text: str) -> None:
    assert judged(name, {"query": text}).verdict is Verdict.RUN


@pytest.mark.parametrize(
    "text",
    [
        "delete from my list",
        "create user story",
        "grant proposal on climate",
        "merge into main",
        "update plan",
        "call centre, who is on duty?",
        "how do I update my profile and set a photo",
        "Wie lösche ich einen Eintrag aus der Liste?",
    ],
)
def test_a_search_in_words_runs_without_a_card(text: str) -> None:
    assert judged("search_notes", {"query": text}).verdict is Verdict.RUN
    assert judged("list_pages", {"title": text}).verdict is Verdict.RUN
    listed: Json = {"filter": {"property": "Name", "title": {"contains": text}}}
    assert judged("query_database", listed).verdict is Verdict.RUN


def test_a_message_that_speaks_of_deleting_takes_no_phrase() -> None:
    spec = ToolSpec("s", "send_message", "", "", {}, "d", hints=Hints(False, False))
    for text in ("Delete from the list what you do not need", "DROP TABLE users; was a joke"):
        found = decide(Policy("v", ALWAYS), spec, {"body": text}, "C1", lambda *_: True)
        assert found.verdict is Verdict.CONFIRM


@pytest.mark.parametrize("name", ["aggregate", "mongodb_aggregate", "mongo-aggregate", "get_documents"])
@pytest.mark.parametrize(
    "pipeline",
    [
        [{"$out": "users"}],
        [{"$match": {}}, {"$facet": {"x": [{"$merge": {"into": "b"}}]}}],
        '[{"$out": "users"}]',
        "[{$merge: 'users'}]",
    ],
)
def test_a_pipeline_that_writes_is_typed_for_whatever_its_tool_is_called(name: str, pipeline: Json) -> None:
    assert judged(name, {"collection": "a", "pipeline": pipeline}).verdict is Verdict.TYPED
    assert judged(name, {"pipeline": [{"$project": {"$output": 1}}]}).verdict is Verdict.RUN


@pytest.mark.slow(but=1)
@pytest.mark.parametrize(
    "text",
    [
        "delete " * 15_000,
        ";" * 100_000,
        "/*" * 50_000,
        "'" * 100_000,
        "drop table" + " " * 99_000,
        "x drop table a " * 7_000,
        "\n" * 100_000,
        "select " + "(" * 100_000,
        "select " + "a(" * 50_000,
        "select " + "abs(" * 25_000,
        "select " + "a b" * 30_000 + "(",
        "select " + "x(" + "a," * 50_000,
        "select " + "abs (" * 900 + "as x(a," * 9_000,
        "a b " * 25_000,
        "'; drop" * 14_000,
        "';" * 50_000,
        "';" + " (" * 49_000,
    ],
)
def test_no_text_takes_long_to_be_looked_through(text: str) -> None:
    def judge() -> object:
        return class_of_statements(["query", "db"], {"sql": text, "text": text, "query": text})

    assert seconds(judge, 6, 0.5) < 0.5


def test_a_read_with_more_than_is_judged_asks_and_what_is_called_like_a_statement_takes_a_phrase() -> None:
    long, many = "How do people do this? " * 800, [f"word {number}" for number in range(1_100)]
    for much in (long, many):
        assert judged("search_pages", {"words": much}).cls is WRITE
        assert judged("search_pages", {"query": much}).cls is DESTRUCTIVE
        assert judged("search_pages", {"words": json.dumps([{"$match": much}])}).cls is DESTRUCTIVE
        assert judged("query_database", {"words": much}).cls is DESTRUCTIVE
    assert "more than are searched" in judged("search_pages", {"words": long}).reason


def test_a_long_question_a_vector_and_a_long_query_are_still_judged() -> None:
    assert judged("search_pages", {"words": "How do people do this? " * 600}).cls is READ
    assert judged("search_pages", {"vector": [number / 7 for number in range(3_072)], "top": 5}).cls is READ
    columns = ", ".join(f"t.column_{number}" for number in range(700))
    assert judged("query_database", {"sql": f"SELECT {columns} FROM t"}).cls is READ


def test_a_long_text_of_a_tool_that_writes_takes_no_phrase() -> None:
    spec = ToolSpec("s", "create_page", "", "", {}, "d", hints=Hints(read_only=False, destructive=False))
    decision = decide(
        Policy("v", ALWAYS), spec, {"content": "Notes of today. " * 2_000}, "C1", lambda *_: False
    )
    assert decision.cls is WRITE


@pytest.mark.parametrize("before", ["{}", "[]; ", '{"a": 1}\n', "[1] ", '"{}"; '])
@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("mongosh_query", "db.users.deleteMany({})"),
        ("query_database", "DROP TABLE users"),
        ("query_graphql", "mutation { deleteUser(id: 1) { id } }"),
    ],
)
def test_json_before_a_statement_hides_nothing_of_it(name: str, change: str, before: str) -> None:
    assert judged(name, {"query": change}).cls is DESTRUCTIVE
    assert judged(name, {"query": before + change}).cls is DESTRUCTIVE


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT 'a\n{\"'; DELETE FROM users; SELECT '\":1}\n'",
        'INSERT INTO t FORMAT JSONEachRow\n{"a":1}\n{"a":2}',
    ],
)
def test_lines_of_a_statement_that_begin_as_json_are_judged_with_it(statement: str) -> None:
    assert judged("query_database", {"query": statement}).verdict is Verdict.TYPED
    assert judged("find_rows", {"where": statement}).verdict is Verdict.CONFIRM


@pytest.mark.parametrize(
    "value",
    [
        "'; update users set admin=1; select '",
        "'; drop table users; select '",
        "') ; /**/delete from users where 'a'='a",
        "x '; drop table users; select '",
        "select '; drop table users; select '",
        "'or 1=1; truncate table users; select '",
        '"; update users set admin=1 where "a"="a',
    ],
)
@pytest.mark.parametrize("name", ["name", "value", "input"])
def test_quotes_that_a_tool_puts_a_value_into_hide_no_statement_in_it(value: str, name: str) -> None:
    assert judged("postgres_lookup", {name: value}).verdict is Verdict.TYPED
    assert judged("find_customer", {name: value}).verdict is Verdict.CONFIRM


@pytest.mark.parametrize(
    "value",
    [
        "O'Brien; D'Angelo",
        "'s Gravenhage; 't Gooi",
        '"update; delete; insert" are verbs',
        "'wash; drop table linen off'",
        '"the lists; create table of contents" task',
        "He said 'drop it'; she said 'set a date'",
        "';'",
        "';",
    ],
)
def test_names_and_sentences_in_quotes_with_semicolons_are_read_at_once(value: str) -> None:
    assert judged("find_customer", {"value": value}).verdict is Verdict.RUN


def test_lines_of_json_with_words_between_them_are_no_statement() -> None:
    text = '{"level": "info", "text": "started"}\nretrying\n{"level": "info", "text": "stopped"}'
    assert judged("search_logs", {"pattern": text}).cls is READ


GOES_ON = """TABLE t INTO OUTFILE '/tmp/x'|table a.t order by b into outfile '/tmp/x'|VALUES ROW(1) INTO OUTFILE '/tmp/x'
    EXPLAIN ANALYZE REFRESH MATERIALIZED VIEW x|EXPLAIN ANALYZE EXECUTE p|EXPLAIN (ANALYZE) EXECUTE p
    explain (analyze, verbose) execute p|DESC ANALYZE EXECUTE p|FROM t INSERT INTO t2 SELECT *
    FROM (SELECT 1) x INSERT OVERWRITE TABLE y SELECT *|SHOW TABLES INTO OUTFILE 'x'|DESCRIBE t INTO OUTFILE 'x'
    SELECT current_user INTO OUTFILE 'x'|WITH x(a) AS (SELECT 1) SELECT a INTO t2 FROM x|TABLE t LIMIT 5; VACUUM"""
READS_ONLY = """TABLE t|TABLE t ORDER BY a LIMIT 5|VALUES (1), (2)|VALUES ROW(1)|EXPLAIN ANALYZE SELECT a FROM t|FROM t SELECT *
    EXPLAIN (ANALYZE, FORMAT JSON) SELECT a FROM t|DESCRIBE t|SHOW TABLES|WITH x(a) AS (SELECT 1) SELECT a FROM x
    show me what we put into the archive|from which date on do we insert rows|explain how orders are imported"""


@pytest.mark.parametrize("text", [one.strip() for one in GOES_ON.replace("\n", "|").split("|")])
def test_a_query_that_begins_as_one_that_reads_and_changes_something_is_asked_about(text: str) -> None:
    assert judged("get_rows", {"query": text}, about="Runs a read-only SQL query.").verdict is Verdict.CONFIRM


@pytest.mark.parametrize("text", [one.strip() for one in READS_ONLY.replace("\n", "|").split("|")])
def test_a_query_that_reads_to_its_end_runs(text: str) -> None:
    assert judged("get_rows", {"query": text}, about="Runs a read-only SQL query.").verdict is Verdict.RUN
