"""Documents of GraphQL: a mutation asks however it is written, and what only reads stays free."""

from __future__ import annotations

import pytest

from gate.arguments.statements import class_of_statements
from gate.arguments.tool_names import words
from gate.rules.action import CallClass
from tests.cpu_time import seconds

BODY = "{ deleteUser(id: 1) { id } }"
# Tools that say they only read, and the argument that a document stands in
TOOLS = [
    ("query_graphql", "query"),
    ("graphql_query", "query"),
    ("query-graphql", "query"),
    ("query", "query"),
    ("execute_query", "query"),
    ("search_api", "query"),
    ("get_graphql", "query"),
    ("get_graphql", "payload"),
    ("fetch_graphql", "document"),
    ("queryGraphQL", "operation"),
    ("get_data", "gql"),
    ("get_rows", "document"),
    ("get_rows", "x"),
]
MUTATIONS = [
    f"mutation,{BODY}",
    f"mutation ,X,{BODY}",
    f",,mutation{BODY}",
    f"mutation # a\n{BODY}",
    f"mutation # {{\r{BODY}",
    f"mutation X # a\n# b\n{BODY}",
    f"mutation X{' ' * 200}{BODY}",
    "mutation X" + "\n" * 10 + f"($id: ID!) {BODY}",
    f"mutation,($id: ID!){BODY}",
    f"\ufeffmutation{BODY}",
    f"\x00mutation{BODY}",
    f"mutation\ufeff{BODY}",
    f"mutation {'deleteUser' * 9} {BODY}",
    f"mutation X @a {BODY}",
    f"mutation @a(b: 1) {BODY}",
    f"query A {{ me {{ id }} }} mutation B {BODY}",
    f"query A {{ me {{ id }} }}mutation{BODY}",
    f"fragment F on User {{ id }} mutation B, {BODY}",
    f"subscription S {{ a }} mutation M # a\n@x {BODY}",
    f"type A {{ a: Int }} mutation # x\nB {BODY}",
    f"# query\nmutation,{BODY}",
    f'# "\nmutation,{BODY}# "',
    f'"""A""" query A {{ a }} mutation B, {BODY}',
    f'query A {{ a(x: "# ") }} mutation,{BODY}',
    f'query A {{ a(x: """#""") }} mutation,{BODY}',
    f'query A {{ a(x: "\\"") }} mutation,B,{BODY}',
    f'query A {{ a(x: ["""\\"""]) }} mutation,{BODY} # """',
]


@pytest.mark.parametrize("text", MUTATIONS)
def test_a_mutation_is_judged_like_a_plain_one_however_it_is_written(text: str) -> None:
    for name, argument in TOOLS:
        plain = class_of_statements(words(name), {argument: f"mutation {BODY}"})
        assert plain is not CallClass.READ
        assert class_of_statements(words(name), {argument: text}) is plain, (name, argument)


READS = [
    "{ me { id } }",
    "query Q { viewer { login createdAt } }",
    "query, Q, { me, { id, name } }",
    "query Q @cached { me { id } }",
    "query Q($id: ID!) { user(id: $id) { name posts(first: 5) { title } } }",
    "query Q($mutation: ID!) { gene(mutation: $mutation) { id } }",
    'query { issues(title: "a mutation, {b}") { id } }',
    'query { a(x: "mutation", y: "b") { id } c { d } }',
    "{ __schema { queryType { name } mutationType { name fields { name } } } }",
    '{ __type(name: "Mutation") { fields { name args { name } } } }',
    "query IntrospectionQuery { __schema { mutationType { name } directives { name } } }",
    "fragment F on User { id } query Q { me { ...F } }",
    "query Q { a: mutations(first: 3) { id } }",
    '{ gene(symbol: "BRAF") { mutations { position } mutationCount } }',
    "query Q { me { id ... on User { name } } }",
    "{ a(first: 1) { pageInfo { endCursor } } }",
    'query { repository(owner: "a", name: "b") { issues(last: 20, states: OPEN) { nodes { title } } } }',
    "query Q($first: Int = 10, $where: Where = {deleted: false}) { rows(first: $first, where: $where) { id } }",
    "query A { me { id } } query B { you { id } }",
    "query Q { me { id @include(if: true) } }",
]


@pytest.mark.parametrize("text", READS)
def test_what_only_reads_runs_without_a_card(text: str) -> None:
    for name, argument in TOOLS:
        assert class_of_statements(words(name), {argument: text}) is CallClass.READ, (name, argument)


def test_a_subscription_changes_nothing() -> None:
    for name, argument in TOOLS:
        if name != "execute_query":  # which may take SQL, and no statement of that begins so
            document = {argument: "subscription S { messageAdded { id } }"}
            assert class_of_statements(words(name), document) is CallClass.READ, (name, argument)


@pytest.mark.parametrize(
    "text",
    [
        "how do genes mutate {draft}",
        "what is a mutation?",
        "gene mutation, cancer",
        "the mutation is: {x}",
        "{mutation} of {gene}",
        "useMutation hook {react}",
        "const [run] = useMutation(DELETE)",
        "mutation testing with mutmut (python)",
        "graphql mutation example",
        "Mutationen {Entwurf}",
    ],
)
def test_words_of_a_search_stay_free(text: str) -> None:
    for name, argument in (("search_notes", "query"), ("search_docs", "q"), ("read_file", "document")):
        assert class_of_statements(words(name), {argument: text}) is CallClass.READ, (name, argument)


@pytest.mark.slow(but=1)
@pytest.mark.parametrize(
    "text",
    [
        "mutation " * 11_000 + "{",
        "mutation#" * 11_000 + "{",
        "query {" + "mutation # " * 9_000,
        '{"' * 50_000 + "mutation",
        'query{ """\\"""' * 7_000 + "mutation{",
        '"\\' * 50_000 + "mutation {",
        "query { mutation" + " " * 99_000 + "{",
    ],
)
def test_no_document_takes_long_to_be_judged(text: str) -> None:
    def judge() -> object:
        return class_of_statements(["query", "graphql"], {"sql": text, "text": text, "query": text})

    assert seconds(judge, 6, 0.5) < 0.5
