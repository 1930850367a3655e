"""Tools that read whole folders leave secret files out, and say so; by its name such a file takes a typed phrase."""

from __future__ import annotations

import asyncio
from pathlib import Path
from tempfile import TemporaryFile

import pytest
from mcp import Client

from gate.arguments.declared_targets import Targets
from gate.rules.result_targets import found_files
from servers.document import server as document
from servers.filesystem import disk, listing, paths
from servers.filesystem import server as filesystem
from servers.filesystem.paths import Roots
from servers.knowledge import server as knowledge
from servers.knowledge.indexing import Change, Seen
from servers.knowledge.taking import taken
from servers.tool_metadata import META

SECRET = (".env", "app/.env.local", "keys/server.PEM", "id_rsa", "x/secrets.yml", "credentials", ".ENV")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for path in SECRET:
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text("TOKEN of Lisbon is hush\n")
    (tmp_path / "notes.md").write_text("Lisbon is sunny, and its TOKEN is public.\n")
    return tmp_path


MORE = """
.git-credentials .ssh/config home/.ssh/config .kube/config .docker/config.json .npmrc .pypirc .netrc _netrc .my.cnf
.vault-token .env~ .env.bak .env.local.bak #.env# .env.swp id_rsa.bak id_rsa.old .id_rsa.swp id_rsa~ id_ed25519_sk id_rsa.1
.env.production.local .env.test.local.bak .env-prod .env_prod .env.example.local prod.env config/app.env app.env~
application_default_credentials.json google-credentials.json client_secret.json client_secret_1-x.apps.json kubeconfig
admin.kubeconfig kubeconfig.yaml .s3cfg .boto rclone.conf .config/gh/hosts.yml /etc/shadow serviceAccountKey.json
terraform.tfstate terraform.tfstate.backup wp-config.php local.settings.json secring.gpg a.md|.env a.md&.env
server.key.bak server.key.txt db.kdbx.old a.p12 a.pfx a.ppk a.p8 a.jks credentials.json~ secrets.yml.orig
id_rsa.bk id_rsa.prev id_rsa.rpmsave id_rsa.dpkg-old server.key.ucf-dist id_rsa_backup_2024 id_rsa.2024-01-02 id_rsa-2024-01-02
id_rsa.20240102T1200 server.pem-last id_rsa.off id_rsa_2 .envs/.prod/.postgres app/.envs/.local/.django .envs/.x
terraform.tfvars prod.auto.tfvars terraform.tfvars.json .dev.vars .dev.vars.staging /run/secrets/db run/secrets/a.txt
/var/run/secrets/kubernetes.io/serviceaccount/token access_tokens.db credentials.db legacy_credentials/ann@x.org/adc.json
accessTokens.json azureProfile.json msal_token_cache.bin msal_token_cache.json secrets.prod.yaml secrets-dev.yml
secrets.local.toml app.secrets.toml db_secrets.json prod-secrets.yaml secret.json pgpass.conf .mylogin.cnf .vault_pass
.vault_pass.txt vault_pass.txt .vault-password vault_password_file group_vars/all/vault.yml config/master.key
config/credentials.yml.enc config/credentials/production.yml.enc .env.enc .env.gpg secrets.yaml.age .streamlit/secrets.toml
.aws/credentials .aws/config .ssh .ssh/id_work .ssh/authorized_keys .ssh/known_hosts .ssh/config.d/work .gnupg
.gnupg/pubring.kbx .gnupg/private-keys-v1.d/A1.key cookies.sqlite logins.json key4.db signons.sqlite .bash_history
.zsh_history .python_history .psql_history .mysql_history .node_repl_history .terraformrc .terraform.d/credentials.tfrc.json
krb5.keytab keynote.key .yarnrc.yml .aws .aws/sso/cache/ab12.json .config/fish/fish_history .smbcredentials .authinfo
.authinfo.gpg .m2/settings.xml .password-store/mail/ann.gpg /etc/ssh/ssh_host_rsa_key /etc/wireguard/wg0.conf
/etc/kubernetes/admin.conf .git/config .config/op/config kaggle.json .kaggle/kaggle.json shop-firebase-adminsdk-x1y2.json
.huggingface/token .cache/huggingface/stored_tokens
""".split()
# `keynote.key` may be slides or a private key, which no name tells: a typed phrase for slides costs less than a key.
ORDINARY = """
secretary.md tokens.md secret-santa.md environment.md secrets.md secrets.py secret_manager.py sealed-secrets.yaml
external-secrets.yaml secrets.example.yaml secrets.schema.json secret.template.yaml variables.tf main.tf outputs.tf
terraform.tfvars.example example.tfvars .terraform.lock.hcl .dev.vars.example run/secrets.md src/run.py secrets/README.md
docs/secrets/README.md access_token.py accessToken.ts tokens.json azure-profile.md profile.json login.json logins.md key.json
keys.json keyboard.json key4.md cookies.json cookies.md cookie.js login-data.md history.md bash_history.md .bashrc .profile
vault.md vault.py vaults.yml vault-config.yml pass.md passwords.md credentials_test.md id_rsa.pub .ssh/id_rsa.pub
.ssh/id_ed25519.pub .ssh/work.pub.bak ssh.md gnupg.md .gitignore .env.example .env.sample docker-compose.yml config.json
kubernetes.yaml values.yaml settings.json package.json tsconfig.json requirements.txt auth.json Makefile README.md LICENSE
monkey.txt turkey.csv keynote.pdf certificate.crt notes.txt public.gpg release.asc master.md service.json account.json
service-worker.json boto3.py shadow.css environ.py proc.md local.md dev.vars vars.yml secretariat.json nosecret.md
yarnrc.md git/config config fish.md ssh_host_rsa_key.pub settings.xml m2/settings.xml huggingface/token.py token
aws/notes.md .gitconfig kubernetes/admin.conf.md wireguard.md firebase-adminsdk.md .huggingface/README.md
""".split()


KNOWN = [
    *SECRET,
    *MORE,
    "a/.env ",
    ".env.",
    "a/.e\u200bnv",
    "．env",
    "id_rsa (1)",
    "Copy of id_rsa",
    "id_rsa 2",
    ".env 2",
    "Login Data",
    "Default/Login Data",
    "profile/login data for account",
]


def test_a_secret_file_is_known_by_its_name() -> None:
    assert [path for path in KNOWN if not paths.is_secret(path)] == []


NO_SECRETS = [
    *"""notes.md .env.example keyboard.md env secrets.md monkey id_rsa.pub config config.json ssh/config a.pub\n    .env-sample .env.local.example example.env sample.env.bak environment app.environment hosts.yml shadow a/shadow.css\n    update-credentials.md boto.py wp-config.md known_hosts .gitconfig .dockerignore keys.md turkey x.keys.md rsa id_rsa.pub.bak config.bak notes.md~\n    id_rsa.pub.2024-01-02 envs/a.yml .envs.md a.envs/.gitignore key-1 notes.2024-01-02 credentials-2""".split(),
    *ORDINARY,
    *(f"docs/{name}" for name in ORDINARY),
    "Reset login data",
    "the login data",
]


def test_an_ordinary_file_is_not_taken_for_a_secret_one() -> None:
    assert [path for path in NO_SECRETS if paths.is_secret(path)] == []


async def test_a_search_for_text_does_not_look_into_secret_files(folder: Path) -> None:
    async with Client(filesystem([folder])) as client:
        found = await client.call_tool("search_files", {"path": ".", "pattern": "*", "contains": "token"})
        named = await client.call_tool("search_files", {"path": ".", "pattern": "*.env*"})
    told = found.structured_content or {}
    assert [one["path"] for one in told["matches"]] == ["notes.md"]
    assert f"{len(SECRET)} secret files were not looked into" in told["note"]
    assert "hush" not in str(found)
    assert {one["path"] for one in (named.structured_content or {})["matches"]} >= {".env", "app/.env.local"}


@pytest.mark.slow
async def test_an_index_takes_no_secret_file_in(folder: Path) -> None:
    async with Client(knowledge([folder])) as client:
        made = await client.call_tool("index_folder", {"path": "."})
        found = await client.call_tool("search_documents", {"query": "Lisbon"})
        asked = await client.call_tool("ask_about_files", {"question": "What is the token of Lisbon?"})
    assert not made.is_error
    assert "notes.md" in str(found)
    assert "hush" not in f"{made}{found}{asked}"


@pytest.mark.slow
async def test_what_an_earlier_version_took_in_is_not_told_and_goes_with_the_next_update(
    folder: Path,
) -> None:
    async with Client(knowledge([folder])) as client:
        await client.call_tool("index_folder", {"path": "."})
        index = folder / ".countersign" / "knowledge" / "index.sqlite"
        text = (folder / ".env").read_bytes()
        added = Change(added=[Seen(".env", len(text), disk.sha256(text))])
        with TemporaryFile() as made:
            await asyncio.to_thread(taken, index.read_bytes(), Roots.at([folder]), added, None, made)
            made.seek(0)
            index.write_bytes(made.read())
        found = await client.call_tool("search_documents", {"query": "Lisbon"})
        assert "notes.md" in str(found)
        assert "hush" not in str(found)
        plan = await client.call_tool("preview_update", {"call": {"path": "."}})
        assert ".env (gone, taken out)" in str(plan)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("tool", "args", "files"),
    [
        ("search_files", {"path": ".", "pattern": "*.md", "contains": "lisbon"}, ("notes.md",)),
        ("search_files", {"path": ".", "pattern": "*.md"}, ()),
        ("search_documents", {"query": "Lisbon"}, ("notes.md",)),
        ("ask_about_files", {"question": "Is Lisbon sunny?"}, ("notes.md",)),
        ("get_related_chunks", {"chunk": "notes.md#1"}, ("more.md",)),
    ],
)
async def test_a_tool_that_reads_below_a_folder_declares_which_files_are_in_its_result(
    folder: Path, tool: str, args: dict[str, str], files: tuple[str, ...]
) -> None:
    (folder / "more.md").write_text("Its TOKEN is public, and sunny.\n")
    app = filesystem([folder]) if tool == "search_files" else knowledge([folder])
    async with Client(app, read_timeout_seconds=60) as client:
        if tool != "search_files":
            await client.call_tool("index_folder", {"path": "."})
        declared = next(one for one in (await client.list_tools()).tools if one.name == tool)
        found = (await client.call_tool(tool, args)).structured_content
    assert declared.meta
    targets = Targets(found=tuple(declared.meta[META]["targets"]["found"]))
    assert found_files(targets, args, found) == files


HARD = "hard.md"


@pytest.fixture
def linked(tmp_path: Path) -> list[Path]:
    """Two folders: in the one a file that is a secret one of the other by another name, and one that is not."""
    one, other = tmp_path / "one", tmp_path / "other"
    (other / ".kube").mkdir(parents=True)
    (one / "sub").mkdir(parents=True)
    (other / ".kube" / "config").write_text("TOKEN of Lisbon is hush\n")
    (one / "sub" / HARD).hardlink_to(other / ".kube" / "config")
    (one / "plain.md").write_text("Lisbon is sunny, and its TOKEN is public.\n")
    (one / "again.md").hardlink_to(one / "plain.md")
    return [one, other]


async def test_a_secret_file_is_not_read_by_another_name_of_it(linked: list[Path]) -> None:
    async with Client(filesystem(linked)) as client:
        told = await client.call_tool("read_file", {"path": f"one/sub/{HARD}"})
        plain = await client.call_tool("read_file", {"path": "one/again.md"})
        found = await client.call_tool("search_files", {"path": ".", "pattern": "*", "contains": "token"})
    assert told.is_error
    assert "another name of other/.kube/config, a secret file" in str(told)
    assert "public" in str(plain)
    matches = (found.structured_content or {})["matches"]
    assert [one["path"] for one in matches] == ["one/again.md", "one/plain.md"]
    assert "hush" not in f"{told}{found}"


@pytest.mark.slow
async def test_an_index_and_other_readers_take_no_other_name_of_a_secret_file(linked: list[Path]) -> None:
    async with Client(knowledge(linked)) as client:
        await client.call_tool("index_folder", {"path": "one"})
        found = await client.call_tool("search_documents", {"query": "Lisbon"})
    assert "plain.md" in str(found)
    assert "hush" not in str(found)
    async with Client(document(linked)) as client:
        told = await client.call_tool("extract_text", {"path": f"one/sub/{HARD}"})
    assert "another name of" in str(told)


def test_a_file_with_other_names_among_too_many_is_not_read(linked: list[Path]) -> None:
    place = Roots.at(linked).find("one/again.md")
    info = (linked[0] / "again.md").stat()
    assert listing.OtherNames(place).refusal(place.said, info) == ""
    few = listing.OtherNames(place, listing.Budget(visits=1))
    assert "among too many" in few.refusal(place.said, info)
    assert few.refusal(place.said, (linked[0] / "sub").stat()) == ""


@pytest.mark.parametrize("other", [False, True])
async def test_a_folder_whose_own_name_makes_its_files_secret_is_not_looked_into(
    tmp_path: Path, other: bool
) -> None:
    served = [tmp_path / ".kube", tmp_path / "notes"][: 1 + other]
    for folder in served:
        folder.mkdir()
        (folder / "config").write_text("token: hush")
    async with Client(filesystem(served)) as client:
        found = await client.call_tool(
            "search_files", {"path": ".kube" if other else ".", "pattern": "*", "contains": "token"}
        )
        seen = await client.call_tool(
            "search_files", {"path": "notes" if other else ".", "pattern": "*", "contains": "token"}
        )
    assert (found.structured_content or {})["matches"] == []
    assert [one["path"] for one in (seen.structured_content or {})["matches"]] == ["notes/config"] * other
