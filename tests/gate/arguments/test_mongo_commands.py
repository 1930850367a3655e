"""Commands of MongoDB and texts of its shell: those that are not known to look are typed for."""

from __future__ import annotations

import tracemalloc
from functools import reduce
from itertools import islice, product

import pytest

from gate.arguments.mongo_commands import commands_change
from gate.arguments.statements import class_of_statements
from gate.arguments.tool_names import words
from gate.rules.action import CallClass, Json
from tests.cpu_time import seconds

TOOLS = [
    ("mongodb_query", "query"),
    ("query_mongodb", "query"),
    ("query_mongo", "query"),
    ("mongodb", "query"),
    ("mongosh_get", "query"),
    ("mongodb_find", "q"),
    ("mongodb_get", "input"),
]
COMMANDS: list[Json] = [
    '{"dropDatabase": 1}',
    '{"delete":"users","deletes":[{"q":{},"limit":0}]}',
    '{"update":"users","updates":[{"q":{},"u":{"$set":{"admin":true}}}]}',
    '{"insert":"users","documents":[{"a":1}]}',
    '{"findAndModify":"users","query":{},"remove":true}',
    '{"findandmodify":"users"}',
    '{"mapReduce":"a","map":"x","reduce":"y","out":"b"}',
    '{"drop":"users"}',
    '[{"drop":"users"}]',
    '{"command":{"drop":"users"}}',
    '{"$query":{"drop":"users"}}',
    '{"shutdown":1}',
    '{"$eval":"x"}',
    '{"replSetReconfig":{"_id":"x"}}',
    '{"killAllSessions":[]}',
    '{"_configsvrAddShard":"x"}',
    '{"\\u0064rop": "x"}',
    '{"ping":1}{"drop":"x"}',
    {"delete": "users", "deletes": []},
    [{"ping": 1}, {"drop": "users"}],
    {"command": {"drop": "users"}},
    {"statement": ["{dropDatabase: 1}"]},
    '{delete: "users", deletes: [{q: {}, limit: 0}]}',
    "{'delete': 'users'}",
    "{dropDatabase: 1}",
    '{renameCollection: "a.b", to: "a.c"}',
    '{/* a */drop: "x"}',
    '{["dr"+"op"]: "x"}',
    "{'\\x64rop': 'x'}",
    '{ping: 1}; {drop: "x"}',
    '({drop: "x"})',
    '/* a */ {drop: "x"}',
    '// a\n{drop: "x"}',
    '\ufeff{drop: "x"}',
]
SHELL = [
    "this.db.users.drop()",
    "globalThis . db.users.drop()",
    "db/* a */.users.drop()",
    "(this).db.users.drop()",
    'this["db"].users.drop()',
    "(0,db).users.drop()",
    "let d=db; d.users.drop()",
    'new Mongo().getDB("x").dropDatabase()',
    'load("x.js")',
    "rs.initiate()",
    'load ("x.js")',
    "with (db ) dropDatabase (1)",
    'with (db ) users["dr"+"op"] (1)',
    "for (d of [db ]) with (d ) dropDatabase (1)",
    "with (rs ) initiate (1)",
    'connect (0 || "mongodb://h/x")["dropDatabase"] (1)',
    "(0,load) (h)",
    "rs [a] (h)",
    "rs.initiate (1)",
    "let d = db; d.users.drop ()",
    'show: this["db"].users.drop()',
    'show: load("x.js")',
    "db.users.findAndModify({query: {a: 1}, new: true})",
    "db.users.mapReduce(f, g, {out: 'x'})",
    "db.users.watch()",
    "db.runCommand({drop: 'x'})",
    "db.setProfilingLevel(2)",
    "db.a.find(db.fsyncLock())",
    "db.a.getPlanCache().clear()",
    "db.a.find().next(); db.adminCommand({shutdown: 1})",
    "db.users.stats({}); db.users.hideIndex('x')",
    'db["users"].drop()',
    'db.users.find({a: db.b["drop"]()})',
    'return db.a["drop"]()',
    '{a: db.b["drop"]()}',
    "db.users.find({}).forEach(d => db.x['insertOne'](d))",
    "db.users.find(eval('x'))",
    "db.a.stats(new Function('x')())",
    "{$where: (() => {})()}",
    "db.a.find(x => { while(1); })",
    'db.a.find(/"/, db.b["drop"](1), /"/)',
    "db.a.find(db.b.drop // find\n())",
    "db.a.find(db.b.drop <!-- find\n())",
    "db.a.find(db.b.drop/**/())",
    "db.a.find(db.b.drop``)",
    "db.a.find(db.b.drop?.())",
    "db.a.find(1); db.a.find = db.a.drop; db.a.find()",
    'db.users.aggregate([{$match: {}}, {"$o\\u0075t": "x"}])',
    'db.users.aggregate([{"$\\out": "x"}])',
    'db.users.aggregate([{["$" + "out"]: "x"}])',
    "db.getCollection('users').drop()",
    "db['users'].deleteMany({})",
    "db.getSiblingDB('x').dropDatabase()",
    "db.getSiblingDB('x').users.find({}).forEach(f)",
    "db['users']['drop']()",
    "db.getCollection('users').aggregate([{$out: 'x'}])",
    "db.getCollection('users').aggregate([{'$merge': 'x'}])",
    "db.getCollection('users').find({}); db.a.remove({})",
    "db.users.find({a: 'update'}); db.users.update({}, {})",
    'db.users.find({a: /"/, b: db.c.drop(), d: /"/})',
    "db.users = db.a",
    "({find: db.x.deleteMany, __proto__: db.x}).find({})",
    "({__proto__: x}).find({})",
    "db.getCollectionNames().find(db.x.deleteMany, db.x)",
    "db.getCollectionNames().find(db.getCollection('x').deleteMany)",
    'db.getCollectionNames().find(db.x["hideIndex"], 1)',
    "db.getCollectionNames().find(db . fsyncLock)",
    "db.getCollectionNames().find($out => db.x.aggregate([{$out}]).toArray())",
    "[db.x.hideIndex].find(1)",
    "[''].find(eval)",
    "db.a.find({a: {toString: db.dropDatabase}})",
    "db.a.find({a: {toString: rs.stepDown}})",
    "db.a.find({a: Array.prototype})",
    "db.a.aggregate(db.y.findOne().p)",
    "db.a.aggregate([{$match: {}}, db.y.findOne().p])",
    "db.a.aggregate([...db.y.findOne().p])",
    "db.a.aggregate([{$out}])",
    "[].at.constructor('return d' + 'b')()",
]


@pytest.mark.parametrize("text", [*COMMANDS, *SHELL])
def test_a_command_that_changes_something_is_typed_for(text: Json) -> None:
    for name, argument in TOOLS:
        assert class_of_statements(words(name), {argument: text}) is CallClass.DESTRUCTIVE, (name, argument)


LOOKS: list[Json] = [
    "{}",
    "[]",
    '{"status":"new"}',
    '{"find":"users","filter":{"a":1}}',
    '{"aggregate":"users","pipeline":[{"$match":{"a":1}}],"cursor":{}}',
    '{"count":"users"}',
    '{"distinct":"users","key":"a"}',
    '{"listCollections":1}',
    '{"dbStats":1}',
    '{"collStats":"users"}',
    '{"ping":1}',
    '{"explain":{"find":"users"}}',
    '{"update":{"$exists":true}}',
    '{"status":"new","update":"x","deleted":false}',
    '{"createdAt":{"$gte":{"$date":"2026-01-01T00:00:00Z"}}}',
    '{"name":{"$regex":"^a\\\\d+(b|c)$"}}',
    '[{"$match":{"a":1}},{"$sort":{"update":-1}}]',
    {"status": "new", "$or": [{"update": "x"}, {"delete": True}]},
    "{status: 'new'}",
    "{ age: { $gt: 30 }, 'address.city': \"Berlin\" }",
    "{_id: ObjectId('65a')}",
    "{ created: { $gte: ISODate('2026-01-01'), $lt: new Date() } }",
    "{name: /^a.*b$/i}",
    "db.users.find({})",
    "db.users.find({status: 'new'})",
    "db.users.findOne({_id: ObjectId('x')})",
    "db.users.find({a: 1}, {b: 1}).sort({c: -1}).limit(5).toArray()",
    "db.users.countDocuments({a: {$gt: 5}})",
    "db.users.distinct('country', {active: true})",
    "db.users.aggregate([{$match: {a: 1}}, {$group: {_id: '$b', total: {$sum: '$c'}}}])",
    "db.users.aggregate([\n  { $match: { a: 1 } },\n  { $project: { updatedAt: 1, n: { $size: '$orders' } } }\n])",
    "db.users.estimatedDocumentCount()",
    "db.users.getIndexes()",
    "db.users.stats()",
    "db.users.find({name: 'Bob (Jr)'}).pretty()",
    "db.users.find({}).explain('executionStats')",
    "db.users.find({site: 'https://a.example/x'})",
    "db.users.find({name: {$regex: '^\\\\d+'}})",
    "db.orders.find({total: {$gte: NumberDecimal('5.0')}}).hint('total_1').maxTimeMS(500)",
    "db.getCollection('users').find({})",
    "db.getCollection('users').find({a: 1}).limit(5)",
    'db["users"].find({})',
    "db['users'].countDocuments({a: 1})",
    "db.getSiblingDB('x').users.find({})",
    "db.getSiblingDB('x').getCollection('users').aggregate([{$match: {a: 'drop'}}])",
    "db.stats()",
    "db.version()",
    "db.serverStatus()",
    "db.getCollectionNames()",
    "db.users.find({status: 'update'})",
    "db.users.find({update: 'x', 'set': \"call\"}).sort({create: -1}).limit(5)",
    "db.races.find({constructor: 'McLaren', prototype: true}).size()",
    "db.races.distinct('results.constructor')",
    "db.app.updates.find({}).sort({createdAt: -1})",
    "db.getSiblingDB('local').oplog.rs.find().limit(1)",
    "db.serverStatus().connections",
    "db.users.find().toArray().length",
    "db.orders.find({user: db.users.findOne({name: 'x'})._id})",
    "db.users.aggregate( {$group: {_id: '$out', all: {$mergeObjects: '$$ROOT'}}} )",
    "db.users.find({site: 'https://www.example.com', note: 'see (a.example), =>, ...'})",
    "db.users.find({email: /@(example.com|acme.org)$/})",
    "find all users",
    "find users (active)",
    "show collections",
    "WITH x AS (SELECT sum(a) AS n FROM t) SELECT n FROM x",
    "how many users signed up in May?",
]


@pytest.mark.parametrize("text", LOOKS)
def test_what_only_looks_runs_without_a_card(text: Json) -> None:
    for name, argument in (*TOOLS, ("mongodb_find", "filter"), ("mongodb_aggregate", "pipeline")):
        assert class_of_statements(words(name), {argument: text}) is CallClass.READ, (name, argument)


@pytest.mark.parametrize(
    "text",
    [
        "Acme db (EU)",
        "my-db (old)",
        "rs-0 (primary)",
        "error: cannot connect (refused)",
        "connect timeout (30s)",
        "what is the load (avg) on db01?",
        "the rs (replica set) is down",
        "SELECT note FROM t WHERE note = 'load (kW)'",
        "Rosa sp. nov. (draft)",
        "avg. load (kW)",
        "rs. 500 (rupees)",
        "the process. see (docs)",
        "Object.constructor (docs)",
        "array.prototype.map (docs)",
        'the page "Errors, load (avg)" of May',
        'what "connect timeout (30s)" means',
    ],
)
@pytest.mark.parametrize("argument", ["name", "search", "comment", "description"])
def test_words_beside_a_bracket_are_no_text_of_the_shell(text: str, argument: str) -> None:
    assert class_of_statements(words("mongodb_list"), {argument: text}) is CallClass.READ


@pytest.mark.parametrize(
    "text",
    [
        'this["d"+"b"].users.drop()',
        'globalThis["d"+"b"]["users"]["dr"+"op"]()',
        'eval("d"+"b.u.dr"+"op()")',
        'require("child_process").execSync("rm -rf /x")',
        'c\\u006fnnect("x")["dropDatabase"]()',
        'run("rm", "/x")',
        'removeFile("/x")',
        "process.exit()",
    ],
)
@pytest.mark.parametrize("argument", ["code", "script", "filter", "pipeline", "expression"])
def test_a_call_in_an_argument_for_code_is_typed_for(text: str, argument: str) -> None:
    assert class_of_statements(words("mongodb_get"), {argument: text}) is CallClass.DESTRUCTIVE


@pytest.mark.parametrize(
    "text",
    [
        "rs . stepDown (60)",
        "rs. stepDown (60)",
        "sh . stopBalancer ()",
        "process . kill (1)",
        "[].at.constructor('return d'+'b.dropDatabase()')()",
        "[].at . constructor (a) ()",
        "({__proto__: a}).find()",
    ],
)
@pytest.mark.parametrize("argument", ["input", "field", "filter", "sort", "collection"])
def test_a_call_of_the_shell_is_typed_for_in_any_argument(text: str, argument: str) -> None:
    assert class_of_statements(words("mongodb_find"), {argument: text}) is CallClass.DESTRUCTIVE


@pytest.mark.parametrize(
    "text",
    [
        "x');db.users.deleteMany({});('",
        "'+db.dropDatabase()+'",
        '"); load("x.js");("',
        "', rs.stepDown(60), '",
    ],
)
@pytest.mark.parametrize("argument", ["input", "collection", "name"])
def test_quotes_that_a_tool_puts_a_value_into_hide_no_code_in_it(text: str, argument: str) -> None:
    assert class_of_statements(words("mongodb_find"), {argument: text}) is CallClass.DESTRUCTIVE


def test_a_filter_is_no_command_whatever_its_fields_are_called() -> None:
    for argument in ("filter", "projection", "sort"):
        for value in ({"update": 1}, '{"delete": "x"}', "{create: 1}"):
            args: Json = {"collection": "a", argument: value}
            assert class_of_statements(["mongodb", "find"], args) is CallClass.READ, (argument, value)


def test_a_stage_that_writes_is_known_with_escapes_whatever_the_tool_is_called() -> None:
    for stage in ("$o\\u0075t", "\\u0024out", "$\\x6fut", "$mer\\147e", "\\u{24}merge"):
        for name in ("query", "find", "aggregate", "db_query", "get_rows"):
            args: Json = {"query": f"db.a.aggregate([{{'{stage}': 'x'}}])"}
            assert class_of_statements(words(name), args) is not CallClass.READ, (stage, name)
    for text in ("db.a.aggregate([{$match: {a: '$b'}}])", "the path '$env\\users' and '$5\\n'"):
        assert class_of_statements(["find"], {"query": text}) is CallClass.READ


def test_a_method_that_changes_something_asks_where_it_is_not_called_either() -> None:
    text = "db.users.find({__proto__: db.users, valueOf: db.users.drop} + 1)"
    assert class_of_statements(["mongodb", "query"], {"query": text}) is CallClass.DESTRUCTIVE


def test_a_query_beside_a_collection_is_a_filter() -> None:
    for value in ({"profile": "admin"}, {"create": "2024"}, '{"profile": "admin"}'):
        args: Json = {"collection": "a", "query": value}
        assert class_of_statements(["mongodb", "query"], args) is CallClass.READ
        assert class_of_statements(["mongodb", "query"], {"query": value}) is CallClass.DESTRUCTIVE
    for other in ({"delete": "a", "deletes": []}, "db.a.drop()", "{drop: 'a'}", {"dropDatabase": 1}):
        args = {"collection": "a", "query": other}
        assert class_of_statements(["mongodb", "query"], args) is CallClass.DESTRUCTIVE


def test_a_text_that_begins_with_a_list_is_no_text_of_the_shell() -> None:
    for text in ("[notes](docs/a.md) of [2026]", "[a]\npath = x (old)"):
        assert class_of_statements(["mongodb", "search"], {"text": text}) is CallClass.READ


def test_a_plain_command_is_known_whatever_its_tool_is_called() -> None:
    for text in (COMMANDS[1], COMMANDS[2], COMMANDS[4], COMMANDS[18], COMMANDS[22]):
        assert class_of_statements(["query"], {"query": text}) is CallClass.DESTRUCTIVE
        assert class_of_statements(["query", "database"], {"query": text}) is CallClass.DESTRUCTIVE
        assert class_of_statements(["get", "data"], {"query": text}) is CallClass.WRITE
    for other in ('{"delete": {"id": 1}}', {"update": "x", "status": "new"}, {"insert": True}):
        assert class_of_statements(["query"], {"query": other}) is CallClass.READ


@pytest.mark.slow(but=1)
@pytest.mark.parametrize(
    "text",
    [
        "{a:" * 33_000,
        "){" * 50_000,
        "}" + "(" * 99_000,
        "db." * 33_000,
        "db.a.find(" * 10_000,
        "db.a.find('" * 9_000,
        "db.find" + " " * 99_000 + "(",
        "{a" + " " * 99_000,
        "] " * 50_000,
        '{"a":' * 3_000,
        "db.a.find({b: /" + "/" * 99_000,
        "{a:1" + ";" * 99_000,
        "{a:1" + "(;" * 33_000,
        "{a:1" + ");" * 33_000,
        "db.a(" + ".constructor (" * 7_000,
        "db.a(" + ".constructor (a) b" * 5_000,
        "db.a(" + "db.a" * 25_000,
        "db.a(" + "aggregate(" * 10_000,
        'db.a(a["' * 12_000,
    ],
)
def test_no_text_of_the_shell_takes_long_to_be_judged(text: str) -> None:
    def judge() -> object:
        return class_of_statements(["query", "mongodb"], {"sql": text, "text": text, "query": text})

    assert seconds(judge, 6, 0.5) < 0.5


@pytest.mark.parametrize(
    "text", ["{delete: 'a', deletes: []}", ";;{delete: 'a', deletes: []}", "( ;{delete: 'a', deletes: []}"]
)
def test_a_command_behind_signs_of_separation_is_found(text: str) -> None:
    assert class_of_statements(["mongodb", "find"], {"command": text}) is CallClass.DESTRUCTIVE
    for before in ("{a: 1}", "{}", "{ }"):
        assert class_of_statements(["mongodb", "find"], {"command": before + text}) is CallClass.DESTRUCTIVE


def test_fields_within_long_names_take_neither_long_nor_much_room() -> None:
    words = ("".join(letters) for letters in product("abcdefghijklmnopqrstuvwxyz", repeat=3))
    names = ["body" + "".join(islice(words, 30)) + "Body" for _ in range(150)]
    value: Json = {f"body{number}": 1 for number in range(2_000)}
    args: Json = {"data": reduce(lambda inner, name: {name: inner}, names, value)}
    assert seconds(lambda: commands_change(args), 3, 0.3) < 0.3
    tracemalloc.start()
    try:
        commands_change(args)
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
    finally:
        tracemalloc.stop()
