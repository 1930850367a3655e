"""Which paths hold secrets by their names: keys, credentials, environment files, and the stores of common tools."""

from __future__ import annotations

import re

from gate.arguments.text_cache import Remembered

# A path to something that holds secrets, as its canonical form ends.
SECRET_FILE = (
    r"(?i)(^|[/\\=\s@,;&|])[.#]{0,2}(\.env([._-](?!(example|sample|template|dist)$)[\w-]{1,40})?"
    r"(\.(?!(example|sample|template|dist)$)[\w-]{1,40}){0,2}|\.envs[/\\]([\w.-]{1,60}[/\\]){0,2}\.[\w-]{1,40}|"
    r"(?!([\w-]{1,99}\.){0,3}(example|sample|template|dist)\.env)"
    r"[\w-]{1,99}(\.[\w-]{1,60}){0,3}\.env|"
    r"\.envrc|\.dev\.vars(\.(?!(example|sample|template|dist)$)[\w-]{1,40})?|[._]netrc|\.pgpass|pgpass\.conf|\.npmrc|"
    r"\.pypirc|\.htpasswd|\.git-credentials|\.vault-token|vault[_-]pass(word)?([_-]file)?|"
    r"vault\.ya?ml|\.dockercfg|\.dockerconfigjson|\.s3cfg|\.boto|credentials\.tfrc\.json|"
    r"\.((ssh|gnupg|aws|password-store)([/\\](?![\w.*?\[\]{},!-]{0,90}\.pub([._~-]|$))[\w.*?\[\]{},!-]{1,90}){0,3}|"
    r"yarnrc\.ya?ml|smbcredentials|authinfo|m2[/\\]settings(-security)?\.xml|git[/\\]config|config[/\\]op[/\\]config|"
    r"huggingface[/\\](stored_)?tokens?|cache[/\\]huggingface[/\\](stored_)?tokens?|"
    r"kube[/\\]config|(my|mylogin)\.cnf|terraformrc|"
    r"(bash|zsh|sh|ksh|fish|python|psql|mysql|sqlite|rediscli|node_repl|irb|pry)_history)|\.docker[/\\]config\.json|gh[/\\]hosts\.yml|"
    r"run[/\\]secrets([/\\][\w.*?\[\]{},!-]{1,90}){1,4}|"
    r"access_?tokens\.(db|json)|legacy_credentials([/\\][\w.@-]{1,90}){1,2}|azureprofile\.json|"
    r"msal_token_cache\.\w{1,10}|key[34]\.db|signons\.sqlite|logins(-backup)?\.json|cookies\.sqlite(-wal)?|"
    r"login(?<=[/\\]login) data( for account)?|^(?-i:Login Data)( For Account)?|"
    r"etc[/\\](g?shadow-?|wireguard[/\\][\w-]{1,40}\.conf|kubernetes[/\\][\w-]{1,40}\.conf)|"
    r"ssh_host_(rsa|dsa|ecdsa|ed25519)_key|fish_history|kaggle\.json|[\w-]{1,60}-firebase-adminsdk-[\w-]{1,40}\.json|"
    r"proc[/\\]([^/\\\s]{1,40}[/\\]){1,3}(environ|mem)|id_(rsa|dsa|ecdsa|ed25519)(_sk)?|([\w-]{1,40}\.)?kubeconfig(\.ya?ml)?|rclone\.conf|"
    r"[\w.-]{0,60}\.(pem|key|p8|p12|pfx|ppk|jks|keystore|keytab|kdbx|tfstate|"
    r"(?<!example\.)(?<!sample\.)(?<!template\.)tfvars(\.json)?)|credentials(\.\w{1,10})?|secring\.gpg|"
    r"credentials[/\\][\w-]{1,60}\.ya?ml\.enc|"
    r"[\w-]{1,40}([_-](?<!example.)(?<!sample.)credentials|[._-](?<!example.)(?<!sample.)(?<!sealed.)(?<!external.)secrets?)\."
    r"(json|ya?ml|toml|ini|csv)|client_secrets?[\w.-]{0,90}\.json|"
    r"secrets?\.(ya?ml|json|toml|ini|txt|env)|"
    r"secrets?((\.(?!(example|sample|template|dist|schema)\.)[\w-]{1,40}){1,2}|"
    r"[_-](prod(uction)?|dev(elopment)?|staging|stage|test|local|live))\.(ya?ml|json|toml|ini)|"
    r"service[_-]?account[\w-]{0,40}\.json|wp-config\.php|"
    r"local\.settings\.json)"
    r"(~|#|\.(gz|bz2|xz|zip|7z|asc|enc|gpg|age|swp|tmp|txt)|\s?\(\d{1,3}\)|"
    r"([._]\d{1,14}|-\d{4,14}|(?<!credentials) \d{1,3})([T._-]\d{1,6}){0,5}|"
    r"[._-](bkp?|prev(ious)?|last|rej|disabled|off|rpm(save|orig|new)|(dpkg|ucf)-[a-z]{3,6})|"
    r"[\s._-]{1,3}\(?(bak|old|orig|save|backup|copy|kopie)( ?\d{1,3})?\)?){0,3}$"
)
SECRET = re.compile(SECRET_FILE)
LONGEST_END = 600  # characters of a text that it can match, and a line break at the end
# Such paths, which a pattern of names may match.
SECRET_NAMES = tuple(
    ".env .env.local .env.production.local x.env .envrc .netrc .pgpass .npmrc .pypirc .htpasswd .git-credentials "
    ".my.cnf .vault-token .dockercfg .ssh/config .kube/config .docker/config.json id_rsa id_dsa id_ecdsa "
    "id_ed25519 x.pem x.key x.p8 x.p12 x.pfx x.ppk x.jks x.keystore x.kdbx x.tfstate credentials credentials.json "
    "application_default_credentials.json secret.yml secrets.yml secrets.json service-account.json "
    "client_secret.json kubeconfig .dockerconfigjson .s3cfg .boto rclone.conf secring.gpg wp-config.php "
    "local.settings.json gh/hosts.yml etc/shadow proc/self/environ x.tfvars terraform.tfvars.json .dev.vars "
    ".mylogin.cnf pgpass.conf .vault_pass .vault_pass.txt vault_pass.txt .aws/config x.keytab .gnupg/pubring.kbx "
    ".terraformrc credentials.yml.enc .authinfo .smbcredentials .yarnrc.yml .fish_history ssh_host_rsa_key "
    "id_ed25519_sk secrets.yaml .bash_history .zsh_history .python_history .psql_history .mysql_history "
    ".huggingface/stored_tokens credentials/production.yml.enc".split()
)
# Such paths whose names begin or end as ordinary ones do: a pattern has to say nearly all of one (`logins.*`).
WORDY_NAMES = frozenset(
    "access_tokens.db accessTokens.json azureProfile.json msal_token_cache.json secrets.prod.yaml app.secrets.toml "
    "vault.yml logins.json key4.db cookies.sqlite kaggle.json signons.sqlite".split()
)


@Remembered
def ends_as_secret(text: str) -> bool:
    """Whether a text ends as such a path does; only its end is searched."""
    return SECRET.search(text, max(0, len(text) - LONGEST_END)) is not None
