"""Texts with secrets made by chance from a seed, in the places where people leave them; and texts that only look so.

A token is put together here from its prefix and what chance gives, so that no line of this file looks like one.
"""

from __future__ import annotations

import random
import string
from collections.abc import Callable, Iterator
from typing import NamedTuple

Random = random.Random
HEX = "0123456789abcdef"
LOWER = string.ascii_lowercase + string.digits
UPPER = string.ascii_uppercase + string.digits
ALL = string.ascii_letters + string.digits
WEB = ALL + "-_"
B64 = ALL + "+/"
B32 = string.ascii_uppercase + "234567"


class Labelled(NamedTuple):
    """A text, and the secret in it, or nothing."""

    name: str
    text: str
    secret: str


def signs(r: Random, of: str, n: int) -> str:
    """Signs by chance, with a digit in the middle and none but letters and digits at the ends."""
    ends = "".join(c for c in of if c.isalnum())
    made = [r.choice(ends), *(r.choice(of) for _ in range(n - 2)), r.choice(ends)]
    made[n // 2] = r.choice([c for c in of if c.isdigit()])
    return "".join(made)


def uuid(r: Random) -> str:
    return "-".join(
        [signs(r, HEX, 8), *(signs(r, HEX, 4) for _ in range(2)), signs(r, HEX, 4), signs(r, HEX, 12)]
    )


def jwt(r: Random) -> str:
    return f"{'eyJ'}hbGciOiJSUzI1NiJ9.{'eyJ'}{signs(r, WEB, 80)}.{signs(r, WEB, 86)}"


def pem(r: Random) -> str:
    kind = r.choice(["RSA PRIVATE", "EC PRIVATE", "PRIVATE", "OPENSSH PRIVATE"])
    rows = "\n".join(signs(r, B64, 64) for _ in range(8))
    return f"-----BEGIN {kind} KEY-----\n{rows}\n-----END {kind} KEY-----"


def password(r: Random) -> str:
    word = r.choice("Winter Kiel! Tr0mbone gr33n-tea Schnee& Fjord_ hunting. Zebra+".split())
    return f"{word}{r.choice('-_.!+')}{r.randint(11, 9999)}{r.choice(['', 'x', '!', 'Qz'])}"


# Each is a list of parts: what stands there, or how many signs of which alphabet.
Part = str | tuple[str, int]
KNOWN: dict[str, list[Part]] = {
    "aws": ["AK", "IA", (B32, 16)],
    "aws session": ["AS", "IA", (B32, 16)],
    "google": ["AI", "za", (WEB, 35)],
    "google oauth": ["GOC", "SPX-", (WEB, 28)],
    "azure": [(ALL, 3), "8Q", "~", (ALL, 34)],
    "alibaba": ["LT", "AI", (ALL, 20)],
    "digitalocean": ["dop", "_v1_", (HEX, 64)],
    "cloudflare": ["v1.", "0-", (HEX, 24), "-", (HEX, 146)],
    "heroku": ["HR", "KU-", (WEB, 60)],
    "fly": ["fo", "1_", (WEB, 43)],
    "github": ["gh", "p_", (ALL, 36)],
    "github app": ["gh", "s_", (ALL, 36)],
    "github oauth": ["gh", "o_", (ALL, 36)],
    "github fine": ["github", "_pat_", (ALL, 22), "_", (ALL, 59)],
    "gitlab": ["gl", "pat-", (WEB, 20)],
    "gitlab runner": ["gl", "rt-", (WEB, 20)],
    "gitlab deploy": ["gl", "dt-", (WEB, 20)],
    "atlassian": ["AT", "ATT3", (WEB, 180), "=", (UPPER, 8)],
    "bitbucket": ["AT", "BB", (ALL, 32)],
    "npm": ["np", "m_", (ALL, 36)],
    "pypi": ["py", "pi-AgE", "IcHlwaS5vcmc", (WEB, 130)],
    "rubygems": ["ruby", "gems_", (HEX, 48)],
    "docker": ["dc", "kr_pat_", (WEB, 27)],
    "crates": ["ci", "o", (ALL, 32)],
    "nuget": ["oy", "2", (LOWER, 43)],
    "slack bot": ["xo", "xb-", ("123456789", 12), "-", ("123456789", 13), "-", (ALL, 24)],
    "slack user": [
        "xo",
        "xp-",
        ("123456789", 12),
        "-",
        ("123456789", 12),
        "-",
        ("123456789", 12),
        "-",
        (HEX, 32),
    ],
    "slack app": ["xa", "pp-1-A0", (UPPER, 9), "-", ("123456789", 13), "-", (HEX, 64)],
    "slack hook": ["https://hooks.sl", "ack.com/services/T0", (UPPER, 8), "/B0", (UPPER, 8), "/", (ALL, 24)],
    "discord": ["MT", (ALL, 24), ".G", (ALL, 5), ".", (ALL, 38)],
    "telegram": [("123456789", 10), ":A", "A", (WEB, 33)],
    "teams": [
        "https://firma.web",
        "hook.office.com/webhookb2/",
        (HEX, 36),
        "@",
        (HEX, 36),
        "/IncomingWebhook/",
        (HEX, 32),
        "/",
        (HEX, 36),
    ],
    "stripe": ["sk", "_live_", (ALL, 24)],
    "stripe restricted": ["rk", "_live_", (ALL, 99)],
    "stripe hook": ["wh", "sec_", (ALL, 32)],
    "square": ["EA", "AA", (WEB, 60)],
    "braintree": ["access", "_token$production$", (LOWER, 16), "$", (HEX, 32)],
    "shopify": ["sh", "pat_", (HEX, 32)],
    "gocardless": ["li", "ve_", (WEB, 40)],
    "flutterwave": ["FLW", "SECK-", (HEX, 32), "-X"],
    "sendgrid": ["S", "G.", (WEB, 22), ".", (WEB, 43)],
    "mailgun": ["ke", "y-", (HEX, 32)],
    "mailchimp": [(HEX, 32), "-u", "s14"],
    "twilio": ["S", "K", (HEX, 32)],
    "brevo": ["xkey", "sib-", (HEX, 64), "-", (ALL, 16)],
    "resend": ["r", "e_", (ALL, 8), "_", (ALL, 24)],
    "openai": ["sk-", "proj-", (WEB, 120)],
    "openai old": ["s", "k-", (ALL, 20), "T3Blbk", "FJ", (ALL, 20)],
    "anthropic": ["sk-", "ant-api03-", (WEB, 93), "AA"],
    "hugging face": ["h", "f_", (ALL, 34)],
    "perplexity": ["pp", "lx-", (ALL, 48)],
    "groq": ["gs", "k_", (ALL, 52)],
    "new relic": ["NR", "AK-", (UPPER, 27)],
    "sentry": ["sntr", "yu_", (HEX, 64)],
    "grafana": ["gl", "sa_", (ALL, 32), "_", (HEX, 8)],
    "dynatrace": ["dt0", "c01.", (B32, 24), ".", (B32, 64)],
    "linear": ["lin", "_api_", (ALL, 40)],
    "notion": ["nt", "n_", (ALL, 46)],
    "airtable": ["p", "at", (ALL, 14), ".", (HEX, 64)],
    "figma": ["fi", "gd_", (WEB, 40)],
    "postman": ["PM", "AK-", (HEX, 24), "-", (HEX, 34)],
    "databricks": ["da", "pi", (HEX, 32)],
    "doppler": ["dp", ".pt.", (ALL, 43)],
    "pulumi": ["pu", "l-", (HEX, 40)],
    "terraform": [(ALL, 14), ".atl", "asv1.", (WEB, 67)],
    "vault": ["hv", "s.", (WEB, 90)],
    "age": ["AGE-SE", "CRET-KEY-1", ("QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L", 58)],
    "asana": ["2/", ("123456789", 16), "/", ("123456789", 16), ":", (HEX, 32)],
}
# Forms that no rule knows: the name alone says what they are.
UNKNOWN: dict[str, Callable[[Random], str]] = {
    "hex": lambda r: signs(r, HEX, r.choice([32, 40, 64])),
    "letters and digits": lambda r: signs(r, ALL, r.choice([20, 24, 32, 48])),
    "web": lambda r: signs(r, WEB, r.choice([22, 43])),
    "base64": lambda r: signs(r, B64, 43) + "=",
    "uuid": uuid,
    "capitals": lambda r: signs(r, UPPER, 26),
    "own prefix": lambda r: (
        f"acme{r.choice('-_')}{r.choice(['live', 'prod', 'k1'])}{r.choice('-_')}{signs(r, ALL, 28)}"
    ),
}
NAMES = (
    "ACME_API_KEY clientSecret BILLING_TOKEN accessToken x-api-key webhook_secret JWT_SIGNING_KEY "
    "encryptionKey session_secret auth_token ldap.bind.credential INTERNAL_AUTH refresh-token"
).split()
# Where people leave one; {n} is a name of it, {s} the secret.
PLACES = {
    "env": "# prod\nPORT=8080\n{n}={s}\nDEBUG=false\n",
    "export": "export {n}='{s}'\nmake deploy\n",
    "yaml": "service:\n  replicas: 3\n  {n}: {s}\n  region: eu-west-1\n",
    "pod": 'env:\n  - name: {n}\n    value: "{s}"\n',
    "json": '{{\n  "timeout": 30,\n  "{n}": "{s}"\n}}\n',
    "one line of json": '{{"user":"ann","{n}":"{s}","admin":false}}',
    "python": 'import os\n\nclient = Client(\n    {n}="{s}",\n)\n',
    "javascript": "const config = {{ '{n}': '{s}' }};",
    "java": 'props.put("{n}", "{s}");',
    "xml": '<config>\n  <add key="{n}" value="{s}"/>\n</config>\n',
    "element": "<{n}>{s}</{n}>",
    "toml": '[remote]\n{n} = "{s}"\n',
    "shell history": "cd app\ncurl -sS -H '{n}: {s}' https://api.firma.test/v1/me\nls -la\n",
    "chat": "Ann: which one do we use?\nBob: the {n} is {s}\nAnn: thanks, delete that please\n",
    "trace": 'Traceback (most recent call last):\n  File "app.py", line 12, in connect\nRuntimeError: 401 for {n}={s}, retrying in 5 s\n',
    "log": "2026-11-22T08:14:03Z WARN config dumped: host=db1 {n}={s} retries=3\n",
    "go": 'const {n} = "{s}"\n',
    "escaped": '{{"body": "{{\\"{n}\\": \\"{s}\\"}}"}}',
    "markdown": "| name | value |\n| --- | --- |\n| {n} | {s} |\n",
}
# Secrets that come with a place of their own.
WHOLE: list[tuple[str, Callable[[Random], str]]] = [
    ("DB_PASSWORD={s}\n", password),
    ("password: '{s}'\nuser: ann\n", password),
    ("Server=db1;Database=x;User Id=sa;Password={s};Encrypt=true", password),
    ("Das Passwort lautet {s} - bitte ändern", password),
    ("postgres://app:{s}@db1.firma.test:5432/shop", password),
    ("git clone https://ann:{s}@git.firma.test/shop.git", lambda r: signs(r, ALL, 20)),
    ("curl -u ann:{s} https://ci.firma.test/job", password),
    ("mysqldump -u root -p{s} shop > dump.sql", password),
    ("Authorization: Bearer {s}\n", jwt),
    ('headers = {{"Authorization": "Basic {s}"}}', lambda r: signs(r, ALL, 28)),
    (
        "apiVersion: v1\nkind: Secret\nmetadata:\n  name: db\ndata:\n  shop: {s}\n",
        lambda r: signs(r, ALL, 32),
    ),
    ("machine git.firma.test login ann password {s}\n", password),
    ("{s}\n", pem),
    ('{{"type": "x", "key": "{s}"}}', lambda r: pem(r).replace("\n", "\\n")),
    ("DefaultEndpointsProtocol=https;AccountName=shop;AccountKey={s};", lambda r: signs(r, B64, 86) + "=="),
    ("//npm.firma.test/:_authToken={s}\n", uuid),
    ("[Interface]\nPrivateKey = {s}\nAddress = 10.0.0.2/32\n", lambda r: signs(r, B64, 43) + "="),
    ("redis-cli -h cache -a {s} ping", lambda r: signs(r, ALL, 18)),
    ("./deploy --api-key {s} --region eu", lambda r: signs(r, ALL, 24)),
    ("DATADOG_APP={s}\n", lambda r: signs(r, HEX, 40)),
]


def secrets(seed: int, rounds: int) -> Iterator[Labelled]:
    """Two of three by their form or place, one by its name."""
    r = random.Random(seed)
    for n in range(rounds):
        for name, parts in KNOWN.items():
            made = "".join(part if isinstance(part, str) else signs(r, *part) for part in parts)
            place = r.choice([*PLACES])
            yield Labelled(
                f"{name} in {place}.{n}", PLACES[place].format(n=f"X{r.randint(1, 9)}", s=made), made
            )
        for number, (place, maker) in enumerate(WHOLE):
            made = maker(r)
            yield Labelled(f"whole {number}.{n}", place.format(s=made), made)
        for number in range((len(KNOWN) + len(WHOLE)) // 2):
            form, place = r.choice([*UNKNOWN]), [*PLACES][number % len(PLACES)]
            made = UNKNOWN[form](r)
            yield Labelled(f"{form} in {place}.{n}", PLACES[place].format(n=r.choice(NAMES), s=made), made)


def counted(r: Random) -> str:
    """A key that somebody typed for a manual: rows of the alphabet and of figures."""
    parts = []
    for _ in range(5):
        row = r.choice([string.ascii_lowercase, string.digits, string.ascii_lowercase])
        start = r.randint(0, len(row) - 7)
        parts.append(row[start : start + r.randint(5, 7)])
    return r.choice(["", "-", "_"]).join(parts)


def same_groups(r: Random) -> str:
    """A token whose numbers somebody has put others in the place of."""
    return "-".join([*[signs(r, "123456789", 4)] * 3, signs(r, HEX, 24)])


Maker = Callable[[Random], str]
HARMLESS: list[tuple[str, Maker]] = [
    ('"integrity": "sha512-{}"', lambda r: signs(r, B64, 86) + "=="),
    ("    --hash=sha256:{} \\", lambda r: signs(r, HEX, 64)),
    ('checksum = "{}"', lambda r: signs(r, HEX, 64)),
    ("github.com/a/b v1.2.3 h1:{}", lambda r: signs(r, B64, 43) + "="),
    (
        '"resolved": "https://packages.firma.test/left-pad/-/left-pad-1.3.0.tgz#{}"',
        lambda r: signs(r, HEX, 40),
    ),
    ("commit {}\nAuthor: Ann\n", lambda r: signs(r, HEX, 40)),
    ("Merge: {} into main", lambda r: signs(r, HEX, 7)),
    ("uses: actions/checkout@{}", lambda r: signs(r, HEX, 40)),
    ("id: {}", uuid),
    ("request {} took 12 ms", uuid),
    ('{{"traceId": "{}"}}', lambda r: signs(r, HEX, 32)),
    ('etag: W/"{}"', lambda r: signs(r, HEX, 32)),
    ("image: app@sha256:{}", lambda r: signs(r, HEX, 64)),
    ('<img src="data:image/png;base64,iVBORw0KGgo{}">', lambda r: signs(r, B64, 400) + "="),
    ("url(data:font/woff2;base64,{})", lambda r: signs(r, B64, 300)),
    ("ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{} ann@laptop", lambda r: signs(r, B64, 43)),
    ("-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----", lambda r: signs(r, B64, 64)),
    ("-----BEGIN PUBLIC KEY-----\n{}\n-----END PUBLIC KEY-----", lambda r: signs(r, B64, 64)),
    ("public_key: {}", lambda r: signs(r, B64, 43) + "="),
    ("AWS_ACCESS_KEY_ID={}EXAMPLE", lambda r: "AK" + "IA" + signs(r, B32, 9)),
    ("export API_KEY=your-api-key-{}", lambda r: r.choice(["here", "goes-here", "123"])),
    ("token: <{}>", lambda r: r.choice(["your token", "TOKEN", "paste-it-here"])),
    (
        "api_key = {}",
        lambda r: r.choice(
            ['os.environ["API_KEY"]', 'os.getenv("KEY2")', "settings.api_key2", "config['api']['key1']"]
        ),
    ),
    ("password: ${{{{ secrets.{} }}}}", lambda r: r.choice(["DB_PASSWORD", "PW2", "NPM_TOKEN"])),
    ("DB_PASSWORD=${{{}}}", lambda r: f"DB_PASSWORD{r.randint(1, 9)}"),
    ("password = {{{{ vault_{}_password }}}}", lambda r: r.choice("db1 web2 shop".split())),
    ("secretName: shop-tls-{}", lambda r: str(r.randint(1, 99))),
    ("const token = await getToken({});", lambda r: r.choice(["user.id", "req", "'read:all'"])),
    ("self.token = generate_token({})", lambda r: str(r.randint(16, 64))),
    ("if (password !== confirm{}) return;", lambda r: str(r.randint(1, 9))),
    ("def check_password(self, raw{}: str) -> bool:", lambda r: str(r.randint(1, 9))),
    ('<input type="password" name="password{}" placeholder="Password">', lambda r: str(r.randint(1, 9))),
    ("label_password: 'Enter your password{}'", lambda r: r.choice(["", " again", " twice"])),
    ("max_tokens: {}", lambda r: str(r.randint(1000, 99_999_999_999))),
    ("token_type=bearer&expires_in={}", lambda r: str(r.randint(100, 9000))),
    (".btn-key-{} {{ color: #a1b2c3; background: #0f0f0f }}", lambda r: str(r.randint(1, 9))),
    (".key{{animation:fade{} 3s ease-in-out infinite}}", lambda r: str(r.randint(1, 9))),
    ("SELECT key, token FROM auth WHERE id = {};", lambda r: str(r.randint(1, 9999))),
    (
        "ALTER TABLE t ADD CONSTRAINT fk_{} FOREIGN KEY (user_id) REFERENCES users(id);",
        lambda r: str(r.randint(1, 99)),
    ),
    ("PRIMARY KEY (id, tenant{})", lambda r: str(r.randint(1, 9))),
    ("The password must have at least {} signs, one of them a digit.", lambda r: str(r.randint(8, 20))),
    ("Das Passwort wird alle {} Tage geändert.", lambda r: str(r.randint(30, 99))),
    ("Passwort: mindestens {} Zeichen", lambda r: str(r.randint(8, 20))),
    ("Please reset your password before {} May, or ask Bob.", lambda r: str(r.randint(1, 30))),
    ("Ihr Kennwort: siehe Brief vom {}.3.2026", lambda r: str(r.randint(1, 30))),
    ("The secret of a good soup is patience and {} onions.", lambda r: str(r.randint(2, 9))),
    ("Tokens are {} words long on average; the key: patience.", lambda r: str(r.randint(2, 9))),
    ('cache_key = f"user:{}:profile"', lambda r: str(r.randint(1, 999))),
    ("sort_key: created_at_{}", lambda r: r.choice(["asc", "desc", "2"])),
    ("key: users/{}/avatar.png", lambda r: str(r.randint(1, 9999))),
    ("s3://bucket/keys/{}/report.pdf", lambda r: signs(r, HEX, 12)),
    ("keyFile: /etc/ssl/private/server{}.pem", lambda r: str(r.randint(1, 9))),
    ("secret_arn: arn:aws:secretsmanager:eu-west-1:123:secret:db{}", lambda r: str(r.randint(1, 9))),
    ("token_url: https://login.firma.test/oauth{}/token", lambda r: str(r.randint(1, 9))),
    ("authorization_endpoint=https://login.firma.test/v{}/auth", lambda r: str(r.randint(1, 9))),
    ("author: Ann Lee <ann{}@example.org>", lambda r: str(r.randint(1, 9))),
    ("https://example.org/reset?step={}", lambda r: str(r.randint(1, 9))),
    ("!function(e,t){{var n=e.key,r=t.token;n.k{}=r}}(window,document);", lambda r: str(r.randint(1, 9))),
    ("access_date: 2026-0{}-11T10:00:00Z", lambda r: str(r.randint(1, 9))),
    ("session expires at 17{}", lambda r: signs(r, "0123456789", 7)),
    (
        "Basic auth is off; the header Authorization: Bearer <token{}> is needed.",
        lambda r: str(r.randint(1, 9)),
    ),
    ("curl -u user:password https://host{}.test", lambda r: str(r.randint(1, 9))),
    ("postgres://user:${{PGPASSWORD}}@db{}/x", lambda r: str(r.randint(1, 9))),
    ("redis://localhost:6379/{}", lambda r: str(r.randint(1, 9))),
    ("keyboard_layout: de-nodeadkeys{}", lambda r: str(r.randint(100, 999))),
    ("git@git.firma.test:ann/key-service-{}.git", lambda r: str(r.randint(1, 99))),
    ("apiVersion: v1\nkind: ConfigMap\ndata:\n  LEVEL: debug{}\n", lambda r: str(r.randint(1, 9))),
    ("secretKeyRef:\n  name: shop-{}\n  key: password", lambda r: str(r.randint(1, 9))),
    ("sessionStorage.setItem('key{}', value)", lambda r: str(r.randint(1, 9))),
    ("translation_key: settings.profile.title{}", lambda r: str(r.randint(1, 9))),
    ("API_TOKEN=tok_{}", counted),
    ('"auth_token": "{}"', same_groups),
    ("client_secret: {}", lambda r: signs(r, ALL, 8) + r.choice("#z9-") * 24),
]


def harmless(seed: int, rounds: int) -> Iterator[Labelled]:
    r = random.Random(seed)
    for n in range(rounds):
        for number, (form, maker) in enumerate(HARMLESS):
            yield Labelled(f"harmless {number}.{n}", form.format(maker(r)), "")


def corpus(seed: int = 7, rounds: int = 3) -> list[Labelled]:
    return [*secrets(seed, rounds), *harmless(seed, rounds)]
