import { describe, expect, it } from "vitest";
import { MOST_IMPORT_CHARACTERS } from "#protocol/wire/profiles.ts";
import { readImport } from "./read-import.ts";

const one = (text: string) => {
  const { made } = readImport(text);
  expect(made).toHaveLength(1);
  const [first] = made;
  if (first === undefined) throw new Error("nothing was found");
  return { ...first.draft.profile, ...first };
};
const problemsOf = (text: string): string => one(text).draft.problems.join("; ");

const R2 = `[r2]
type = s3
provider = Cloudflare
access_key_id = abcdef0123456789
secret_access_key = R2+secret/with=signs
region = auto
endpoint = https://0123456789abcdef.r2.cloudflarestorage.com
`;

describe("rclone.conf", () => {
  it("gives a profile for each remote that speaks S3, with its key apart", () => {
    const { kind, made, ignored } = readImport(`${R2}
[wasabi-eu]
type = s3
provider = Wasabi
access_key_id = WASABIKEY
secret_access_key = wasabisecret
endpoint = s3.eu-central-1.wasabisys.com

[drive]
type = drive
token = {"access_token":"ya29"}
`);
    expect(kind).toBe("rclone.conf");
    expect(made.map(({ draft }) => [draft.from, draft.profile.provider, draft.profile.region])).toEqual([
      ["r2", "r2", "auto"],
      ["wasabi-eu", "wasabi", "eu-central-1"],
    ]);
    expect(made[1]?.draft.profile.endpoint).toBe("https://s3.eu-central-1.wasabisys.com");
    expect(made[0]?.credential).toEqual({
      accessKeyId: "abcdef0123456789",
      secretAccessKey: "R2+secret/with=signs",
    });
    expect(made[0]?.draft.accessKeyHint).toBe("6789");
    expect(JSON.stringify([made.map(({ draft }) => draft), ignored])).not.toMatch(/secret\/with|wasabisecret|ya29/);
    expect(ignored).toEqual(["drive: no store that speaks S3"]);
  });

  it("takes the bucket from an alias, from a command, and from R2's own way of writing the address", () => {
    expect(one(`${R2}[runs]\ntype = alias\nremote = r2:training/llama\n`)).toMatchObject({
      bucket: "training",
      prefix: "llama/",
    });
    expect(one(`${R2}\nrclone copy ./out r2:checkpoints/llama --transfers 4\n`).bucket).toBe("checkpoints");
    expect(one(R2.replace("storage.com", "storage.com/from-url")).bucket).toBe("from-url");
  });

  it("takes values as they stand there: quotes, a # behind a space and a leading $ are part of a key", () => {
    for (const secret of ["SK12 #3456", '"SK123456"', "$ecret12345", "$SECRET12345", "${SECRET}1", "'open", "a ; b"]) {
      const { credential } = one(R2.replace("R2+secret/with=signs", () => secret));
      expect(credential?.secretAccessKey).toBe(secret);
    }
    expect(readImport(R2.replace("R2+secret/with=signs", "'open")).ignored).toEqual([]);
  });

  it("gives a profile for each alias of one remote, in whatever order they stand, and for an alias of an alias", () => {
    const S3 =
      "[s3]\ntype = s3\nprovider = Minio\nendpoint = http://127.0.0.1:9000\naccess_key_id = AK\nsecret_access_key = SK123456\n";
    const alias = (name: string, remote: string) => `[${name}]\ntype = alias\nremote = ${remote}\n`;
    const placesOf = (text: string) =>
      readImport(text).made.map(({ draft: { from, profile } }) => [from, profile.bucket, profile.prefix]);
    expect(placesOf(S3 + alias("models", "s3:bucket-a/models") + alias("logs", "s3:bucket-b"))).toEqual([
      ["s3", "bucket-a", "models/"],
      ["logs", "bucket-b", ""],
    ]);
    expect(placesOf(alias("n", "m:sub") + alias("m", "s3:bkt") + S3)).toEqual([
      ["s3", "bkt", "sub/"],
      ["m", "bkt", ""],
    ]);
    expect(readImport(alias("a", "b:x") + alias("b", "a:y")).ignored).toEqual([
      "a: an alias of a remote that is not in the text",
      "b: an alias of a remote that is not in the text",
    ]);
    expect(readImport(`${alias("disk", "/data/models")}${alias("drive", "D:\\\\models")}`).ignored).toEqual([
      "disk: an alias of a folder of the machine it was written on, and of no store",
      "drive: an alias of a folder of the machine it was written on, and of no store",
    ]);
    expect(
      readImport(`${S3}[sec]\ntype = crypt\nremote = s3:b/e\n[c]\ntype = chunker\nremote = s3:b\n`).ignored,
    ).toEqual([
      "sec: what rclone writes through crypt only rclone can read",
      "c: what rclone writes through chunker only rclone can read",
    ]);
  });

  it("has an endpoint below a path, as Supabase has, and takes it whole", () => {
    const { endpoint, bucket } = one(
      R2.replace("0123456789abcdef.r2.cloudflarestorage.com", "abc.supabase.co/storage/v1/s3").replace(
        "Cloudflare",
        "Other",
      ),
    );
    expect([endpoint, bucket]).toEqual(["https://abc.supabase.co/storage/v1/s3", null]);
  });

  it("says what is missing, in words", () => {
    expect(problemsOf(R2)).toBe("the bucket is not named: type it");
    expect(problemsOf("[x]\ntype = s3\nprovider = AWS\nenv_auth = true\nregion = eu-west-1")).toMatch(/env_auth/);
    expect(problemsOf("[x]\ntype = b2\naccount = 0012\nkey = K001\n")).toMatch(/s3\.REGION\.backblazeb2\.com/);
    expect(problemsOf(`${R2}session_token = abc`)).toMatch(/temporary/);
    expect(problemsOf(R2.replace("R2+secret/with=signs", "XXXXXXXX"))).toMatch(/stand-in/);
  });

  it("that is encrypted says so", () => {
    const { kind, ignored } = readImport("# Encrypted rclone configuration File\n\nRCLONE_ENCRYPT_V0:\nabcdef==\n");
    expect([kind, ignored]).toEqual([
      "nothing",
      ["this rclone.conf is encrypted: paste what rclone config show prints"],
    ]);
  });
});

describe("a variable in single quotes", () => {
  it("is what stands there, also with a $ at its beginning; without them it comes from elsewhere", () => {
    const text = (value: string) => `AWS_ACCESS_KEY_ID=AK\nAWS_SECRET_ACCESS_KEY=${value}\n`;
    expect(one(text("'$ecret12345'")).credential?.secretAccessKey).toBe("$ecret12345");
    expect(readImport(text("$SECRET")).ignored).toEqual(["AWS_SECRET_ACCESS_KEY takes its value from elsewhere"]);
    expect(problemsOf(text("'$AWS_SECRET'"))).toMatch(/stand-in/);
  });

  it.each([
    ["PowerShell", (name: string, value: string) => `$Env:${name} = "${value}"`],
    ["cmd", (name: string, value: string) => `set "${name}=${value}"`],
    ["a quoted list", (name: string, value: string) => `      - "${name}=${value}"`],
    ["fish", (name: string, value: string) => `set -gx ${name} '${value}'`],
    ["csh", (name: string, value: string) => `setenv ${name} ${value}`],
    ["a terminal, with its prompt", (name: string, value: string) => `$ export ${name}=${value}`],
    ["a Secret of Kubernetes", (name: string, value: string) => `  ${name}: ${btoa(`${value}\n`)}`],
  ])("is read as %s writes it", (_, lineOf) => {
    const isSecret = lineOf("A", "a").startsWith("  A");
    const lines = [
      lineOf("AWS_ACCESS_KEY_ID", "AKIAEXAMPLE"),
      lineOf("AWS_SECRET_ACCESS_KEY", "SK123456"),
      lineOf("AWS_ENDPOINT_URL", "https://s3.example.com"),
    ].join("\n");
    const { made } = readImport(isSecret ? `apiVersion: v1\ndata:\n${lines}\nkind: Secret\n` : lines);
    expect(made).toHaveLength(1);
    expect(made[0]?.credential).toMatchObject({ accessKeyId: "AKIAEXAMPLE", secretAccessKey: "SK123456" });
    expect(made[0]?.draft.profile.endpoint).toBe("https://s3.example.com");
  });

  it("is read from a Secret of Kubernetes as it stands below stringData, and left out where data is no base64", () => {
    const keys = "  AWS_ACCESS_KEY_ID: AKIAEXAMPLE\n  AWS_SECRET_ACCESS_KEY: SK123456\n";
    const { made } = readImport(`kind: Secret\nstringData:\n${keys}`);
    expect(made[0]?.credential).toMatchObject({ accessKeyId: "AKIAEXAMPLE", secretAccessKey: "SK123456" });
    const other = readImport(`kind: Secret\ndata:\n${keys.replace("SK123456", "no base64!")}`);
    expect(other.made[0]?.credential ?? null).toBeNull();
  });

  it("has $$ for a $ in the environment of a compose service, and nowhere else", () => {
    const secretOf = (text: string) => one(text).credential?.secretAccessKey;
    const list = (lead: string, as: string) =>
      `${lead}AWS_ACCESS_KEY_ID${as}AK\n${lead}AWS_SECRET_ACCESS_KEY${as}S$$x12345678\n`;
    expect(secretOf(list("      - ", "="))).toBe("S$x12345678");
    expect(secretOf(list("      ", ": "))).toBe("S$x12345678");
    expect(secretOf(list("", "="))).toBe("S$$x12345678");
  });
});

describe("files of keys", () => {
  const keysOf = (text: string) => {
    const { kind, made } = readImport(text);
    return [kind, ...made.map(({ credential }) => `${credential?.accessKeyId}/${credential?.secretAccessKey}`)];
  };

  it("of s3cmd give endpoint, style and key", () => {
    const S3CFG =
      "[default]\naccess_key = AK\nsecret_key = S#K$1\nhost_base = s3.example.com:9000\nuse_https = False\n";
    expect(one(`${S3CFG}host_bucket = %(bucket)s.s3.example.com\nbucket_location = US\n`)).toMatchObject({
      endpoint: "http://s3.example.com:9000",
      addressing: "virtual-host",
      credential: { accessKeyId: "AK", secretAccessKey: "S#K$1" },
    });
    expect(one(`${S3CFG}host_bucket = s3.example.com\n`).addressing).toBe("path");
    expect(readImport(S3CFG).kind).toBe("s3cmd's file");
  });

  it("that the AWS console saved are read, with whatever other columns", () => {
    expect(keysOf("\uFEFFAccess key ID,Secret access key\r\nAKIAEXAMPLE,SK123456\r\n")).toEqual([
      "key file",
      "AKIAEXAMPLE/SK123456",
    ]);
    expect(keysOf('User name,Password,Access key ID,Secret access key\nme,,"AK1","SK1"\nyou,,AK2,SK2\n')).toEqual([
      "key file",
      "AK1/SK1",
      "AK2/SK2",
    ]);
    expect(keysOf("Access key ID;Secret access key\nAK1;SK1\n")).toEqual(["key file", "AK1/SK1"]);
  });

  it("in JSON of MinIO's console are read, whatever path its address has", () => {
    const keys = { accessKey: "minioadmin1", secretKey: "minioadmin2222", api: "s3v4", path: "auto" };
    for (const path of ["", "/api/v1/service-account-credentials"]) {
      const made = one(JSON.stringify({ url: `https://play.example.com${path}`, ...keys }));
      expect(made.endpoint).toBe("https://play.example.com");
      expect(made.credential).toEqual({ accessKeyId: "minioadmin1", secretAccessKey: "minioadmin2222" });
    }
  });

  it("on the page of a provider are read, with their values behind or below the labels", () => {
    const r2 = one(
      `Access Key ID\nabcdef0123456789\nSecret Access Key\n0123456789abcdef\nUse jurisdiction-specific endpoints for S3 clients:\nhttps://acct.r2.cloudflarestorage.com\n`,
    );
    expect(r2).toMatchObject({ provider: "r2", endpoint: "https://acct.r2.cloudflarestorage.com" });
    expect(r2.credential).toEqual({ accessKeyId: "abcdef0123456789", secretAccessKey: "0123456789abcdef" });
    const b2 = one("keyID: 0012345abcdef\nkeyName: tidemark\napplicationKey: K001abcdefghij\n");
    expect(b2.provider).toBe("b2");
    expect(b2.draft.problems.join()).toContain("the page does not say the region");
    expect(b2.credential).toEqual({ accessKeyId: "0012345abcdef", secretAccessKey: "K001abcdefghij" });
    expect(readImport("Access Key ID is what I need, and a secret access key\n").made).toEqual([]);
  });

  it("in what rclone config dump prints are read as those of its file", () => {
    const settings = {
      provider: "Cloudflare",
      access_key_id: "abcdef0123",
      endpoint: "https://a.r2.cloudflarestorage.com",
    };
    const made = one(
      JSON.stringify({ r2: { type: "s3", ...settings, secret_access_key: "$ecret #12345" }, d: { type: "drive" } }),
    );
    expect(made).toMatchObject({ provider: "r2", endpoint: "https://a.r2.cloudflarestorage.com" });
    expect(made.credential?.secretAccessKey).toBe("$ecret #12345");
  });

  it("in JSON are read: those of IAM and of mc; those of STS are named as temporary", () => {
    expect(keysOf('{"AccessKey":{"AccessKeyId":"AK","SecretAccessKey":"SK123456"}}')).toEqual([
      "key file",
      "AK/SK123456",
    ]);
    const sts = '{"Credentials":{"AccessKeyId":"AK","SecretAccessKey":"SK123456","SessionToken":"T","Expiration":"x"}}';
    expect(problemsOf(sts)).toMatch(/temporary one with a session token/);
    const mc = one(
      '{"version":"10","aliases":{"m":{"url":"http://127.0.0.1:9000","accessKey":"AK","secretKey":"SK123456"}}}',
    );
    expect(mc).toMatchObject({ endpoint: "http://127.0.0.1:9000", credential: { accessKeyId: "AK" } });
    expect(readImport('{"type":"service_account","private_key":"x"}').kind).toBe("nothing");
  });
});

describe("other tools", () => {
  const KEY = { accessKeyId: "AKIAEXAMPLE", secretAccessKey: "S/K+123456" };
  const AWS = `export AWS_ACCESS_KEY_ID=${KEY.accessKeyId}\nexport AWS_SECRET_ACCESS_KEY=${KEY.secretAccessKey}\n`;

  it("of DVC's config give endpoint, bucket and prefix", () => {
    const text = `[core]\n    remote = storage\n['remote "storage"']\n    url = s3://models/dvc\n    endpointurl = https://minio.example.com\n    access_key_id = ${KEY.accessKeyId}\n    secret_access_key = ${KEY.secretAccessKey}\n`;
    expect(readImport(text).kind).toBe("DVC's file");
    const place = { endpoint: "https://minio.example.com", bucket: "models", prefix: "dvc/" };
    expect(one(text)).toMatchObject({ ...place, credential: KEY });
    expect(readImport(text.replace("s3://models/dvc", "gs://models"))).toMatchObject({
      made: [],
      ignored: ["storage: no store that speaks S3"],
    });
  });

  it("of DVC's config and its secrets, which stand in a file of their own, is one store", () => {
    const text = `['remote "storage"']\n    url = s3://models/dvc\n['remote "storage"']\n    access_key_id = ${KEY.accessKeyId}\n    secret_access_key = ${KEY.secretAccessKey}\n`;
    expect(readImport(text).made).toHaveLength(1);
    expect(one(text)).toMatchObject({ bucket: "models", prefix: "dvc/", credential: KEY });
  });

  it("of restic's repository are not those of an app that has a bucket of its own", () => {
    const app = `${AWS}export AWS_BUCKET=app-data\nexport RESTIC_REPOSITORY=s3:https://backup.example.com/backups\n`;
    expect(one(app)).toMatchObject({ bucket: "app-data" });
  });

  it("of a .boto file the host counts, so that its key is not sent to AWS", () => {
    const text = `[Credentials]\naws_access_key_id = ${KEY.accessKeyId}\naws_secret_access_key = ${KEY.secretAccessKey}\n[s3]\nhost = s3.wasabisys.com\ncalling_format = boto.s3.connection.OrdinaryCallingFormat\n`;
    expect(one(text)).toMatchObject({ endpoint: "https://s3.wasabisys.com", addressing: "path", credential: KEY });
    expect(readImport(text).kind).toBe("boto's file");
  });

  it("of MC_HOST_name the login in the address is the key", () => {
    const text = 'export MC_HOST_play="https://AKIAEXAMPLE:S%2FK%2B123456@play.min.io:9000"\n';
    expect(one(text)).toMatchObject({
      draft: expect.objectContaining({ from: "mc play" }) as object,
      endpoint: "https://play.min.io:9000",
      credential: KEY,
    });
    expect(JSON.stringify(readImport(text).made.map(({ draft }) => draft))).not.toContain("123456");
  });

  it("of restic's wrappers, which keep the repository in YAML, belong to its host, not to AWS", () => {
    const text = `repository: "s3:https://s3.example.com/backups/db"\nenv:\n  AWS_ACCESS_KEY_ID: AKIA1\n  AWS_SECRET_ACCESS_KEY: s3cr3t\n`;
    const [made] = readImport(text).made;
    expect(made?.draft.profile).toMatchObject({ endpoint: "https://s3.example.com", bucket: "backups" });
  });

  it("in Secrets as kubectl prints them in JSON are read, one or a list of them", () => {
    const encoded = (text: string) => Buffer.from(text).toString("base64");
    const secret = {
      kind: "Secret",
      data: { AWS_ACCESS_KEY_ID: encoded("AKIA1"), AWS_ENDPOINT_URL_S3: encoded("https://s3.example.com\n") },
      stringData: { AWS_SECRET_ACCESS_KEY: "s3cr3t" },
    };
    for (const read of [secret, { kind: "List", items: [{ kind: "ConfigMap" }, secret] }]) {
      const [made] = readImport(JSON.stringify(read, null, 2)).made;
      expect(made?.credential).toMatchObject({ accessKeyId: "AKIA1", secretAccessKey: "s3cr3t" });
      expect(made?.draft.profile.endpoint).toBe("https://s3.example.com");
    }
  });

  it("of Terraform's backend or provider are read, with the endpoint for S3", () => {
    const block = (name: string, endpoint: string) =>
      `${name} {\n  bucket     = "state" # of the team\n  region = "eu-north-1"\n  access_key = "AKIA1"\n  secret_key = "a\\"b"\n  ${endpoint}\n}`;
    const minio = 'endpoints = { dynamodb = "https://d.example.com", s3 = "https://minio.example.com" }';
    const texts = [block('terraform {\n  backend "s3"', minio), block('provider "aws"', minio.replace(" =", ""))];
    for (const text of texts) {
      const [made] = readImport(text).made;
      expect(made?.credential).toMatchObject({ accessKeyId: "AKIA1", secretAccessKey: 'a"b' });
      expect(made?.draft.profile).toMatchObject({ endpoint: "https://minio.example.com", bucket: "state" });
    }
  });

  it("of a service account of Google Cloud are named for what they are", () => {
    const file = { type: "service_account", private_key: "-----BEGIN PRIVATE KEY-----", client_email: "a@b" };
    expect(readImport(JSON.stringify(file))).toMatchObject({
      kind: "nothing",
      ignored: [expect.stringMatching(/service account of Google Cloud .* HMAC key/)],
    });
  });

  it("of RESTIC_REPOSITORY the host and bucket belong to the keys beside it", () => {
    const placeOf = (repository: string) => {
      const { endpoint, bucket, prefix } = one(`${AWS}export RESTIC_REPOSITORY=${repository}\n`);
      return [endpoint, bucket, prefix];
    };
    expect(placeOf("s3:https://s3.example.com/models/restic")).toEqual(["https://s3.example.com", "models", "restic/"]);
    expect(placeOf("s3:s3.amazonaws.com/models")).toEqual(["https://s3.us-east-1.amazonaws.com", "models", ""]);
    expect(placeOf("sftp:host:/data")).toEqual(["https://s3.us-east-1.amazonaws.com", null, ""]);
  });
});

describe("the AWS files", () => {
  it("whose profile has a name in quotes are one profile under it", () => {
    const text =
      '[profile "my prof"]\nregion = eu-west-1\n[my prof]\naws_access_key_id = AK\naws_secret_access_key = SK123456\n';
    expect(one(text)).toMatchObject({
      region: "eu-west-1",
      draft: { from: "my prof" },
      credential: { accessKeyId: "AK" },
    });
  });

  it("pasted one behind the other are one profile", () => {
    const found = one(`[default]
aws_access_key_id = AKIAIOSFODNN7EXAMPLE
aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY

[default]
region = eu-central-1
`);
    expect(found).toMatchObject({
      provider: "aws",
      region: "eu-central-1",
      endpoint: "https://s3.eu-central-1.amazonaws.com",
      addressing: "virtual-host",
    });
    expect(found.credential?.secretAccessKey).toBe("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY");
  });

  it("tell endpoints of services, styles of addresses, and keys that are not theirs", () => {
    const text = `[profile tigris]
aws_access_key_id = tid_abc
aws_secret_access_key = tsec_abc
services = t
s3 =
  addressing_style = path

[services t]
s3 =
  endpoint_url = https://t3.storage.dev
`;
    expect(one(text)).toMatchObject({ provider: "tigris", addressing: "path", name: "tigris" });
    expect(problemsOf("[profile x]\nrole_arn = arn:aws:iam::1:role/a\nregion = us-east-1")).toMatch(/role_arn/);
  });
});

describe("variables", () => {
  it.each([
    ["export AWS_ACCESS_KEY_ID=AKIA1\nexport AWS_SECRET_ACCESS_KEY='s e'", "key is not whole"],
    ["AWS_ACCESS_KEY_ID=$OTHER\nAWS_SECRET_ACCESS_KEY=abc", "key is not whole"],
  ])("%j is refused with a sentence", (text, words) => {
    expect(problemsOf(text)).toContain(words);
  });

  it.each([
    "export AWS_ACCESS_KEY_ID=AKIA1\nexport AWS_SECRET_ACCESS_KEY=se/cret\nexport AWS_REGION=eu-west-1",
    'AWS_ACCESS_KEY_ID="AKIA1"\nAWS_SECRET_ACCESS_KEY="se/cret" # mine\nAWS_DEFAULT_REGION=eu-west-1',
    '$env:AWS_ACCESS_KEY_ID = "AKIA1"\r\n$env:AWS_SECRET_ACCESS_KEY = "se/cret"\r\n$env:AWS_REGION = "eu-west-1"',
    "set AWS_ACCESS_KEY_ID=AKIA1\nset AWS_SECRET_ACCESS_KEY=se/cret\nset AWS_REGION=eu-west-1",
    "ENV AWS_ACCESS_KEY_ID=AKIA1\nENV AWS_SECRET_ACCESS_KEY=se/cret\nENV AWS_REGION eu-west-1",
    "environment:\n  - AWS_ACCESS_KEY_ID=AKIA1\n  - AWS_SECRET_ACCESS_KEY=se/cret\n  - AWS_REGION=eu-west-1",
    "  AWS_ACCESS_KEY_ID: AKIA1\n  AWS_SECRET_ACCESS_KEY: 'se/cret'\n  AWS_REGION: eu-west-1",
  ])("are read as %j", (text) => {
    const found = one(text);
    expect(found.credential).toEqual({ accessKeyId: "AKIA1", secretAccessKey: "se/cret" });
    expect(found).toMatchObject({ region: "eu-west-1", provider: "aws" });
  });

  it("of R2, B2 and Storj are known by their own names", () => {
    const { made, kind } = readImport(`R2_ACCOUNT_ID=ABCDEF01
R2_ACCESS_KEY_ID=r2key
R2_SECRET_ACCESS_KEY=r2secret
B2_APPLICATION_KEY_ID=0012345
B2_APPLICATION_KEY=K0012345
B2_ENDPOINT=s3.us-west-004.backblazeb2.com
STORJ_ACCESS_KEY=jwkey
STORJ_SECRET_KEY=jwsecret
BUCKET_NAME=training
`);
    expect(kind).toBe("environment");
    expect(made.map(({ draft: { profile, problems } }) => [profile.provider, profile.endpoint, problems])).toEqual([
      ["r2", "https://abcdef01.r2.cloudflarestorage.com", []],
      ["b2", "https://s3.us-west-004.backblazeb2.com", []],
      ["storj", "https://gateway.storjshare.io", []],
    ]);
  });

  it("of rclone are remotes and flags", () => {
    const text = `RCLONE_CONFIG_MINE_TYPE=s3
RCLONE_CONFIG_MINE_PROVIDER=Storj
RCLONE_CONFIG_MINE_ACCESS_KEY_ID=jw1
RCLONE_CONFIG_MINE_SECRET_ACCESS_KEY=jw2
RCLONE_CONFIG_MINE_ENDPOINT=gateway.storjshare.io
RCLONE_S3_CHUNK_SIZE=5M
`;
    expect(one(text)).toMatchObject({ provider: "storj", name: "mine" });
    expect(readImport(text).findings[0]).toMatchObject({ what: "--s3-chunk-size", weight: "wrong" });
  });
});

describe("a hostile text", () => {
  const CANARY = "planted-canary-value";
  const pieces = [
    `[__proto__]\ntype = s3\nsecret_access_key = ${CANARY}\naccess_key_id = AKIA\n`,
    `[constructor]\naws_secret_access_key=${CANARY}\naws_access_key_id=x\n`,
    `AWS_SECRET_ACCESS_KEY=${CANARY}\n`,
    `${CANARY}\n`,
    `[a]\ntype=s3\nendpoint = http://user:${CANARY}@169.254.169.254/\n`,
    `rclone copy a :s3:b --s3-secret-access-key=${CANARY} --s3-chunk-size=${CANARY}\n`,
    `rclone ${"-".repeat(3000)}${CANARY}\n`,
    `[${"x".repeat(5000)}]\n`,
    `k${" ".repeat(5000)}= ${CANARY}\n`,
    `"${"A".repeat(4000)}_${CANARY}\n`,
    "\u0000\u202e[x]\u0007\n",
    "[[[[]]]]\n= = =\n====\n",
    "[s]\nk=v\n".repeat(200),
    "\\\n".repeat(500),
    "'".repeat(999),
    "\r\r\n\r",
    "[alias]\ntype=alias\nremote=alias:x/../../y\n",
  ];
  /** A small generator, so that a failure can be repeated. */
  function shuffled(seed: number): string {
    let state = seed;
    const next = (below: number): number => {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
      return state % below;
    };
    let text = "";
    for (let index = 0; index < 12; index++) {
      const piece = pieces[next(pieces.length)] ?? "";
      const cut = next(piece.length + 1);
      text += next(3) === 0 ? piece.slice(cut) : next(2) === 0 ? piece : piece.slice(0, cut) + piece;
    }
    return text;
  }

  it("is read to its end, keeps to the caps, and nothing of a key is shown", () => {
    for (let seed = 1; seed <= 300; seed++) {
      const { made, findings, ignored } = readImport(shuffled(seed));
      const shown = JSON.stringify([made.map(({ draft }) => draft), findings, ignored]);
      expect(shown.includes(CANARY), `seed ${seed}: ${shown}`).toBe(false);
      expect(made.length).toBeLessThanOrEqual(32);
      expect(ignored.length).toBeLessThanOrEqual(20);
    }
  });

  it("that is as long as can be takes no time to speak of", () => {
    for (const piece of [
      "[",
      "a=",
      "'",
      " ",
      "\\\n",
      "rclone --",
      "A_=",
      "x: ",
      "$env:",
      '"',
      "\n",
      "repository: s3:",
      'backend "s3" {\n',
    ]) {
      const text = piece.repeat(Math.floor(MOST_IMPORT_CHARACTERS / piece.length));
      expect(readImport(text).made.length).toBeLessThanOrEqual(32);
    }
  });

  it("that is longer is refused", () => {
    expect(readImport("x".repeat(MOST_IMPORT_CHARACTERS + 1))).toMatchObject({
      kind: "nothing",
      ignored: ["the text is longer than any such file"],
    });
  });

  it("cannot make an endpoint with a key in it, nor a bucket that is a path", () => {
    expect(problemsOf("[a]\ntype=s3\nendpoint = http://u:p@s3.example.com\n")).toMatch(/endpoint is none/);
    expect(problemsOf(`${R2}\nrclone ls r2:../../etc`)).toMatch(/its bucket is no name/);
  });
});
