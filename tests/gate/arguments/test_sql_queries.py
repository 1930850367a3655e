"""Reads of a database: what is no query with known functions asks, and what analysts and searchers write stays free."""

from __future__ import annotations

import pytest

from gate.arguments.statements import class_of_statements
from gate.rules.action import CallClass, Decision, Json, Verdict
from gate.rules.always_gated import ALWAYS
from gate.rules.policy import Policy, decide
from gate.rules.tool import Hints, ToolSpec, Trust
from tests.cpu_time import cpu_seconds, seconds
from tools.mcp.schema import problems

READS = Hints(read_only=True, open_world=False)
# Tools that say they only read, and the argument of each that holds a statement
TOOLS = [
    ("query", "sql"),
    ("read_query", "query"),
    ("query_database", "query"),
    ("query_mysql", "sql"),
    ("query_snowflake", "query"),
    ("list_rows", "sql"),
]
IN_WORDS = [("query", "query"), ("get_data", "q"), ("search_notes", "query"), ("get_rows", "x")]


def judged(name: str, args: Json, about: str = "", trust: Trust = Trust.DECLARED) -> Decision:
    spec = ToolSpec(
        "s", name, name, about, {}, "d", hints=READS, trust=trust, reviewed=trust is Trust.REVIEWED
    )
    return decide(Policy("v", ALWAYS), spec, args, "C1", lambda schema, value: not problems(schema, value))


CALLING = [
    "SELECT wipe_all(1)",
    "SELECT U&\"wipe_all\" UESCAPE '!' (1)",
    "SELECT * FROM U&\"wipe_all\" UESCAPE '='\n(1)",
    "SELECT * FROM 'wipe_all'(1)",
    "SELECT wipe_all # max\n(1)",
    "SELECT `shop`.`wipe_all` # max\n\n  (1)",
    "SELECT wipe_all # a\n# b\n(1)",
    "SELECT wipe_all # a\x0bb\n(1)",
    "SELECT wipe_all // max\n(1)",
    "SELECT wipe_all // max\r(1)",
    "SELECT wipe_all -- max\n(1)",
    "SELECT wipe_all/* max */(1)",
    "SELECT wipe_all {max} (1)",
    "WITH RECURSIVE t AS (SELECT wipe_all(1)) SELECT * FROM t",
    'WITH "t" AS (SELECT wipe_all(1)) SELECT * FROM "t"',
    "WITH t( a) AS MATERIALIZED (SELECT wipe_all(1)) SELECT * FROM t",
    "WITH a AS (SELECT 1), t AS (SELECT wipe_all(1)) SELECT * FROM t",
    "WITH t AS (VALUES (wipe_all(1))) TABLE t",
    "WITH (SELECT wipe_all(1)) AS x SELECT x",
    "EXPLAIN (ANALYZE, VERBOSE) SELECT wipe_all(1)",
    "EXPLAIN (ANALYZE, VERBOSE) SELECT wipe_all (id) FROM t",
    "EXPLAIN ANALYZE WITH t AS (SELECT wipe_all(1)) TABLE t",
    "EXPLAIN FORMAT=JSON SELECT wipe_all(1)",
    "DESCRIBE SELECT wipe_all(1)",
    "SHOW TABLES WHERE wipe_all(1)",
    "SHOW FULL COLUMNS FROM t WHERE wipe_all (1)",
    "VALUES ROW(wipe_all(1))",
    "TABLE a UNION SELECT wipe_all(1)",
    "FROM t SELECT wipe_all(1)",
    "FROM t WHERE wipe_all (id)",
    "FROM wipe_all(1)",
    "SELECT DISTINCT wipe_all (1)",
    "SELECT wipe_all(null)",
    "SELECT ST_CreateOverview('public.r'::regclass, 'rast', 2)",
    "SELECT ST_RemoveIsoNode('city_topo', 5)",
    "SELECT ST_InitTopoGeo('x')",
    "SELECT ST_CreateTopoGeo('x', 'POINT(1 1)')",
    "SELECT ST_AddIsoNode('x', 0, 'POINT(1 1)')",
    "SELECT ST_ChangeEdgeGeom('x', 1, 'LINESTRING(0 0, 1 1)')",
    "SELECT ST_RemEdgeNewFace('x', 12)",
    "SELECT ST_ModEdgeHeal('x', 1, 2)",
    "SELECT ST_MapAlgebra(r, 1, NULL, 'wipe_all(1)') FROM t",
    "SELECT ST_FromGDALRaster(b) FROM t",
    "SELECT ST_AddBand(r, '/etc/a.tif', ARRAY[1]) FROM t",
    "SELECT * FROM ST_Read('/etc/a.shp')",
    "SELECT * FROM glob('/etc/*')",
]


@pytest.mark.parametrize("statement", CALLING)
@pytest.mark.parametrize("trust", [Trust.DECLARED, Trust.REVIEWED])
def test_a_function_that_nobody_knows_is_found_however_the_query_is_written(
    statement: str, trust: Trust
) -> None:
    for name, argument in (*TOOLS, ("query", "query"), ("get_data", "q")):
        assert judged(name, {argument: statement}, trust=trust).verdict is not Verdict.RUN, (name, argument)


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT wipe_all(1)",
        "-- first\nSELECT wipe_all(1)",
        "/* first */ SELECT wipe_all(1)",
        "/*!40000 SELECT wipe_all(1) */",
        "USE shop; SELECT wipe_all(1)",
        "\ufeffSELECT wipe_all(1)",
        "SELECT wipe_all\u200b(1)",
        "SET @x = wipe_all(1)",
        "WITH t AS (SELECT wipe_all(1)) SELECT * FROM t",
        "FROM t SELECT wipe_all(1)",
    ],
)
def test_a_query_is_known_as_one_in_an_argument_of_any_name(statement: str) -> None:
    for name, argument in IN_WORDS:
        assert judged(name, {argument: statement}).verdict is not Verdict.RUN, (name, argument)


@pytest.mark.parametrize(
    "statement",
    [
        "EXPLAIN ANALYZE SELECT wipe(not true)",
        "EXPLAIN ANALYZE SELECT wipe(case when true then true end)",
        "EXPLAIN (ANALYZE) SELECT wipe(not true)",
        "EXPLAIN ANALYZE SELECT ';', wipe(1)",
        "WITH 1 AS a SELECT wipe(a)",
        "TABLE t ORDER BY wipe(1)",
    ],
)
def test_a_query_of_a_database_is_known_by_its_first_words(statement: str) -> None:
    for name, argument in (("query", "query"), ("query", "input"), ("get_database", "text")):
        assert judged(name, {argument: statement}).verdict is not Verdict.RUN, (name, argument)


@pytest.mark.parametrize(
    "statement",
    [
        "FROM t MAP a USING 'sh x' AS b",
        "FROM t REDUCE a USING 'sh x' AS b",
        "SELECT * FROM (FROM t MAP a USING 'sh x' AS b) q",
        "WITH q AS (SELECT 1) FROM q MAP a USING 'sh x' AS b",
    ],
)
def test_rows_that_go_through_a_program_take_a_phrase(statement: str) -> None:
    for name, argument in (("query", "sql"), ("query_hive", "sql"), ("query_mysql", "query")):
        assert judged(name, {argument: statement}).verdict is Verdict.TYPED, (name, argument)


RARER = [
    "NOTIFY payouts",
    "NOTIFY payouts, 'pay everybody'",
    "UNINSTALL SONAME 'x'",
    "CLUSTER accounts",
    "STOP REPLICA",
    "START SLAVE",
    "CHANGE MASTER TO MASTER_HOST='x'",
    "XA COMMIT 'a'",
    "PREPARE TRANSACTION 'x'",
    "SYSTEM SHUTDOWN",
    "SYSTEM DROP REPLICA 'r'",
    "EXCHANGE TABLES a AND b",
    "PURGE RECYCLEBIN",
    "PUT file:///etc/passwd @stage",
    "REMOVE @stage/a",
    "UPSERT accounts VALUES (1)",
    "CACHE INDEX t IN k",
    "BINLOG 'x'",
    "CLONE LOCAL DATA DIRECTORY 'x'",
    "RESTART",
    "MSCK REPAIR TABLE accounts",
    "ABORT",
    "END",
    "HANDLER t OPEN",
    "NOAUDIT ALL",
    "ANALYZE accounts",
    "REFRESH TABLE a",
    "OPTIMIZE accounts ZORDER BY (id)",
    "UNLOAD ('select 1') TO 's3://x'",
    "USE other",
    "FLUSH BINARY LOGS",
    "DO wipe_all(1)",
    "SUMMARIZE t",
]


@pytest.mark.parametrize("statement", RARER)
def test_a_statement_that_does_not_begin_as_one_that_reads_asks(statement: str) -> None:
    for name, argument in (*TOOLS, ("db_query", "q"), ("query_bigquery", "queries")):
        assert judged(name, {argument: "SELECT 1"}).verdict is Verdict.RUN
        assert judged(name, {argument: statement}).verdict is not Verdict.RUN, (name, argument)
        assert judged(name, {argument: statement.lower()}).verdict is not Verdict.RUN, (name, argument)


def test_what_a_server_says_of_a_tool_tells_that_it_takes_statements() -> None:
    for about in ("Run a read-only SQL query", "Asks PostgreSQL"):
        assert judged("query", {"query": "NOTIFY payouts"}, about).verdict is Verdict.CONFIRM
        assert judged("query", {"query": "SELECT 1"}, about).verdict is Verdict.RUN
        assert judged("search_docs", {"query": "restart of the server"}, about).verdict is Verdict.RUN
    assert judged("query", {"query": "NOTIFY payouts"}).verdict is Verdict.RUN


@pytest.mark.parametrize(
    "statement",
    [
        "NOTIFY payouts, 'pay everybody'",
        "UNINSTALL SONAME 'x'",
        "uninstall/* x */soname 'x'",
        "XA COMMIT 'a'",
        "PREPARE TRANSACTION 'x'",
        "EXCHANGE TABLES a AND b",
        "STOP SLAVE",
        "CLONE LOCAL DATA DIRECTORY 'x'",
        "BINLOG 'x'",
    ],
)
def test_a_statement_that_is_hardly_prose_asks_where_a_search_in_words_may_stand(statement: str) -> None:
    for name, argument in IN_WORDS:
        assert judged(name, {argument: statement}).verdict is not Verdict.RUN, (name, argument)


@pytest.mark.parametrize(
    "text",
    [
        "abort the launch plan",
        "restart of the server (second try)",
        "use cases of the api (draft)",
        "notify customers",
        "notify customers, then the press",
        "cluster analysis",
        "end of quarter numbers (final)",
        "show me where the invoice (second) is",
        "show me where render() is called",
        "explain how the function parse(x) works",
        "select a plan (draft)",
        "from Anna (marketing) to Ben",
        "from:anna@example.com (is:unread OR is:starred)",
        'from:anna ("out of office")',
        "with the new logo (blue), please",
        "values of the company (poster)",
        "table of contents (old)",
        "describe the office (Berlin)",
        "analyze the numbers (2026)",
        "stop all deliveries",
        "start with the slaves of Rome",
        "change master to main",
        "uninstall the printer",
        "clone the repository",
        "handler for errors (api)",
        "system shutdown procedure",
        "purge old mails",
        "remove @anna from the list",
        "exchange rates and fees",
        "put the kettle on",
        "prepare transaction reports",
        "refresh of the website (July)",
    ],
)
def test_a_sentence_as_people_type_it_stays_free(text: str) -> None:
    for name, argument in (("search_notes", "query"), ("get_data", "q"), ("find_pages", "title")):
        assert judged(name, {argument: text}).verdict is Verdict.RUN, (name, argument)
    if not text.startswith(("select", "values", "purge", "remove", "exchange", "put", "prepare", "refresh")):
        assert judged("query", {"query": text}).verdict is Verdict.RUN


@pytest.mark.parametrize(
    "called",
    [
        "system('id')",
        "start(1)",
        "show('x')",
        "next(1)",
        "exclude(1)",
        "2 * exclude(1)",
        "apply(1)",
        "fetch('http://x')",
        "explain('x')",
        "((describe(1)))",
        "(" * 400 + "describe(1)",
        "by(1)",
        "pivot('t')",
        *(f"x {operator} pivot('t')" for operator in ("RLIKE", "MOD", "DIV", "EXISTS", "ILIKE", "UNION")),
        "straight_join pivot(1)",
        "groups(1)",
        "top(1) + top(2)",
        "a fetch, next(1)",
        "a, system(1) FROM t TABLESAMPLE SYSTEM (10)",
    ],
)
def test_a_word_of_the_language_is_the_name_of_a_function_where_it_can_be_nothing_else(called: str) -> None:
    for name, argument in TOOLS:
        assert judged(name, {argument: f"SELECT {called}"}).verdict is not Verdict.RUN, (name, argument)


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT NEXT VALUE FOR dbo.seq",
        "SELECT next\nvalue\tfor s AS n",
        "SELECT NEXT" + " " * 200 + "VALUE\u00a0FOR dbo.seq",
        "SELECT 1 RECEIVE * FROM dbo.q",
        "SELECT 'a' RECEIVE * FROM dbo.q",
        "SELECT 1 RECEIVE conversation_handle, message_body FROM dbo.q",
        "SELECT a FROM dbo.b RECEIVE CAST(message_body AS xml) FROM q",
        "SELECT (1) RECEIVE [a] FROM q",
        "SELECT " + "0" * 200 + " RECEIVE a FROM q",
        "SELECT 1 ADD SIGNATURE TO p BY CERTIFICATE c",
        "SELECT 1 ADD COUNTER SIGNATURE TO p BY CERTIFICATE c",
        "SELECT 1 ADD SENSITIVITY CLASSIFICATION TO t.c WITH (LABEL = 'x')",
        "SELECT 1 GET CONVERSATION GROUP @g FROM q",
        "SELECT 1 SEND" + " " * 99 + "ON CONVERSATION h",
        "SELECT 1 OPEN SYMMETRIC KEY k DECRYPTION BY PASSWORD = 'x'",
        "SELECT 1 RAISERROR('x', 20, 1) WITH LOG",
        "SELECT 1 SETUSER 'x'",
        "SELECT 1 SAVE TRAN x",
    ],
)
def test_a_statement_of_t_sql_behind_a_query_takes_a_phrase(statement: str) -> None:
    for name, argument in (("query", "sql"), ("query_mssql", "query"), ("read_query", "query")):
        assert judged(name, {argument: statement}).verdict is Verdict.TYPED, (name, argument)


ANALYSTS = [
    "SELECT * FROM t TABLESAMPLE SYSTEM (10)",
    "SELECT * FROM t TABLESAMPLE BERNOULLI(5) REPEATABLE (3)",
    "SELECT t.* EXCLUDE (a), u.b FROM t, u",
    "SELECT a FROM t GROUP BY GROUPING SETS ((a), (b)) ORDER BY (a)",
    "EXPLAIN ANALYZE VERBOSE (SELECT 1)",
    "DESCRIBE (SELECT 1)",
    "SELECT TOP (10) PERCENT (a) FROM t",
    "SELECT * FROM t CROSS APPLY (SELECT 1) x",
    "SELECT a FROM t ORDER BY a OFFSET (1) ROWS FETCH NEXT (10) ROWS ONLY",
    "SELECT * FROM t PIVOT (SUM(a) FOR b IN ([x], [y])) p",
    "SELECT * FROM (SELECT 1) s UNPIVOT (a FOR b IN (x, y)) p",
    "SELECT lag(a) IGNORE NULLS OVER (ORDER BY c) FROM t",
    "SELECT * FROM t USE KEY (k) WHERE a = 1",
    "SELECT * FROM t FOR SYSTEM_TIME AS OF ('2024-01-01')",
    "SELECT receive FROM t",
    "SELECT a receive, b AS receive FROM t WHERE receive > 1 AND t.receive IS NULL ORDER BY receive DESC",
    "SELECT count(*) receive FROM receive r",
    "SELECT u.receive id, receive * 2 FROM users u",
    "SELECT next, value, start, system FROM t WHERE note = 'we receive goods from them'",
    "SELECT filter(a, x -> x > 1) FROM t",
    "SELECT date_trunc('month', created_at) AS month, count(*) AS orders, sum(total) AS revenue\nFROM orders\nWHERE created_at >= now() - interval '12 months'\nGROUP BY 1\nORDER BY 1;",
    "SELECT u.id, u.email, coalesce(sum(o.total), 0)::numeric(12, 2) AS spent FROM users u LEFT JOIN orders o ON o.user_id = u.id GROUP BY u.id, u.email HAVING count(o.id) > 3 ORDER BY spent DESC LIMIT 20",
    "SELECT id, payload->>'type' AS kind, payload#>>'{customer,name}' AS name FROM events WHERE payload @> '{\"type\": \"refund\"}'",
    "SELECT percentile_cont(0.95) WITHIN GROUP (ORDER BY duration_ms) FROM requests WHERE path ~ '^/api/'",
    "SELECT DISTINCT ON (customer_id) customer_id, created_at FROM orders ORDER BY customer_id, created_at DESC",
    "SELECT schemaname, relname, n_live_tup FROM pg_stat_user_tables ORDER BY n_live_tup DESC",
    "SELECT pg_size_pretty(pg_total_relation_size('orders'))",
    "SELECT g.day::date, count(o.*) FROM generate_series('2026-01-01'::date, '2026-01-31', '1 day') AS g(day) LEFT JOIN orders o ON o.day = g.day GROUP BY 1",
    "SELECT array_agg(tag ORDER BY tag) FILTER (WHERE tag IS NOT NULL) FROM post_tags",
    "SELECT *, row_number() OVER (PARTITION BY dept ORDER BY salary DESC) AS rn, lag(salary) OVER w FROM staff WINDOW w AS (PARTITION BY dept ORDER BY hired)",
    "WITH monthly AS (SELECT date_trunc('month', d) AS m, sum(x) AS s FROM t GROUP BY 1), growth AS (SELECT m, s, lag(s) OVER (ORDER BY m) AS prev FROM monthly) SELECT m, round(100.0 * (s - prev) / nullif(prev, 0), 1) FROM growth",
    "WITH RECURSIVE tree(id, parent, depth) AS (SELECT id, parent, 0 FROM nodes WHERE parent IS NULL UNION ALL SELECT n.id, n.parent, t.depth + 1 FROM nodes n JOIN tree t ON n.parent = t.id) SELECT * FROM tree",
    "WITH a AS MATERIALIZED (SELECT 1 AS n), b AS NOT MATERIALIZED (SELECT 2 AS n) SELECT a.n + b.n FROM a, b",
    "EXPLAIN SELECT * FROM orders WHERE id = 7",
    "EXPLAIN (ANALYZE, BUFFERS) SELECT count(*) FROM orders",
    "EXPLAIN QUERY PLAN SELECT name FROM users WHERE email LIKE 'a%'",
    "EXPLAIN FORMAT=JSON SELECT * FROM orders WHERE total > 100",
    "SHOW TABLES LIKE 'order%'",
    "SHOW FULL COLUMNS FROM orders",
    "SHOW CREATE TABLE orders",
    "SHOW VARIABLES WHERE Variable_name = 'version'",
    "SHOW search_path",
    "DESCRIBE orders",
    "DESC orders",
    "TABLE orders",
    "VALUES (1, 'a'), (2, 'b')",
    "SELECT DATE_FORMAT(created_at, '%Y-%m') AS ym, COUNT(*) FROM orders GROUP BY ym WITH ROLLUP",
    "SELECT `order`.`id`, IFNULL(`note`, '') FROM `order` WHERE `status` IN ('open', 'paid') AND DATEDIFF(NOW(), `created_at`) < 30",
    "SELECT GROUP_CONCAT(DISTINCT tag ORDER BY tag SEPARATOR ', ') FROM post_tags GROUP BY post_id",
    "SELECT JSON_UNQUOTE(JSON_EXTRACT(data, '$.name')) FROM docs WHERE data->'$.age' > 30",
    "SELECT strftime('%Y-%m', created_at), count(*) FROM notes GROUP BY 1",
    "SELECT name, sql FROM sqlite_master WHERE type = 'table'",
    "SELECT julianday('now') - julianday(created_at) FROM notes",
    "SELECT * FROM pragma_table_info('users')",
    "SELECT user_id, MAX(event_at) FROM events QUALIFY ROW_NUMBER() OVER (PARTITION BY user_id ORDER BY event_at DESC) = 1",
    "SELECT f.value:name::string FROM orders, LATERAL FLATTEN(input => items) f WHERE DATEADD(day, -7, CURRENT_TIMESTAMP()) < created_at",
    "SELECT TO_CHAR(created_at, 'YYYY-MM'), IFF(total > 100, 'big', 'small'), TRY_TO_NUMBER(code) FROM orders SAMPLE (10)",
    "SELECT COUNTIF(status = 'failed') / COUNT(*) AS rate FROM `shop.analytics.orders` WHERE DATE(created_at) BETWEEN DATE_SUB(CURRENT_DATE(), INTERVAL 7 DAY) AND CURRENT_DATE()",
    "SELECT REGEXP_EXTRACT(path, r'^/(\\w+)'), APPROX_COUNT_DISTINCT(user_id) FROM `shop.web.hits`, UNNEST(params) AS p GROUP BY 1",
    "SELECT REGEXP_CONTAINS(name, r'(foo|bar)'), SAFE_DIVIDE(a, b) FROM `t`",
    "SELECT FORMAT_DATE('%Y-%m', day), ARRAY_AGG(STRUCT(name, total) ORDER BY total DESC LIMIT 3) FROM `shop.sales` GROUP BY 1",
    "FROM orders SELECT status, count(*) GROUP BY status",
    "FROM orders LIMIT 5",
    "SELECT * FROM orders WHERE name ~* '(gmbh|ag)$'",
    "SELECT list(name), median(total) FROM orders GROUP BY ALL",
    "SELECT * EXCLUDE (password) FROM users",
    "SELECT ST_AsGeoJSON(ST_Transform(ST_RemovePoint(geom, 0), 4326)), ST_Area(geom::geography) FROM parcels",
    "SELECT a.id FROM a JOIN b ON ST_DWithin(a.geom, ST_SetSRID(ST_MakePoint(13.4, 52.5), 4326), 500)",
    "SELECT ST_Value(rast, 1, ST_GeomFromText('POINT(1 1)')), ST_MakeValid(ST_Union(g)) FROM r GROUP BY 1",
    "SELECT toStartOfMonth(ts) AS m, uniqExact(user_id) FROM hits GROUP BY m",
    "SELECT TOP (10) name, DATEDIFF(day, created, GETDATE()) FROM [dbo].[orders] ORDER BY created",
    "SELECT CASE WHEN (a > 1) THEN 'x' ELSE (b || 'y') END FROM t WHERE (a, b) IN ((1, 2), (3, 4)) AND NOT EXISTS (SELECT 1 FROM u)",
    "(SELECT a FROM t) UNION ALL (SELECT b FROM u) EXCEPT (SELECT c FROM v)",
]


@pytest.mark.parametrize("statement", ANALYSTS)
def test_a_query_as_analysts_write_it_runs_without_a_card(statement: str) -> None:
    for name, argument in (*TOOLS, ("query", "query"), ("get_data", "q")):
        assert judged(name, {argument: statement}).verdict is Verdict.RUN, (name, argument)


@pytest.mark.slow(but=1)
@pytest.mark.parametrize(
    "text",
    [
        "select 'a' #\n" * 8_000,
        "select a //" + "\r" * 100_000,
        "#\n" * 50_000 + "(",
        "/*!" * 30_000 + "(",
        "select x('" * 10_000,
        "from t " + "a (b c d e f g " * 6_000,
        "; (" * 30_000,
        "with " + "as (" * 25_000,
        "show " + "tables " * 14_000 + "(",
        "'a'" * 30_000 + "(",
        "notify a, " * 10_000,
        "a b " * 20_000 + "(" + "a, " * 9_000,
        "select 1 " + "as f(a) " * 12_500,
        "select 1 " + "t pivot() " * 10_000,
    ],
)
def test_no_query_takes_long_to_be_judged(text: str) -> None:
    def judge() -> object:
        return class_of_statements(["read", "query"], {"sql": text, "text": text, "query": text})

    assert seconds(judge, 6, 0.5) < 0.5


def test_no_more_than_some_hundred_brackets_are_looked_at_for_what_stands_before_them() -> None:
    for part in ("JOIN LATERAL u AS f(a) ON true ", "UNION SELECT a FROM t ORDER BY (a) "):
        for times, verdict in ((150, Verdict.RUN), (250, Verdict.CONFIRM)):
            assert judged("query", {"sql": "SELECT a FROM t " + part * times}).verdict is verdict
    many = "SELECT " + ", ".join(f"max(a{i})" for i in range(1_000)) + ", row_number() OVER w FROM t AS f(a)"
    assert judged("query", {"sql": many}).verdict is Verdict.RUN


def test_what_a_server_says_of_a_tool_is_read_once_for_all_texts() -> None:
    args = {"queries": ["a"] * 10_000}

    def took(about: str) -> float:
        return cpu_seconds(lambda: class_of_statements(["get", "tickets"], args, about), 3)

    assert took("about tickets " * 200) < 2 * took("")


def test_a_server_that_denies_to_take_sql_is_believed_in_words_of_a_search() -> None:
    about = "Full text query over tickets. Not SQL, and no SQL dialect."
    assert judged("get_tickets", {"query": "late orders"}, about).verdict is Verdict.RUN


def test_a_tool_for_sql_is_judged_whatever_its_argument_is_called() -> None:
    assert class_of_statements(["run", "sql"], {"code": "NOTIFY payouts"}) is CallClass.WRITE
    assert class_of_statements(["run", "sql"], {"code": "SELECT 1 FROM a"}) is CallClass.READ
    assert class_of_statements(["list", "sql", "tables"], {"pattern": "order items"}) is CallClass.READ
