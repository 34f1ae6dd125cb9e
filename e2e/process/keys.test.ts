import { randomBytes } from "node:crypto";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { KEY_KINDS, openKeyServices, type KeyKind, type KeyServices } from "../stage/key-services.ts";
import { runOnce } from "../stage/run-once.ts";
import { startStore, type RunningStore } from "../stage/start-store.ts";
import { testedWorker } from "../stage/start-worker.ts";

/** Keys as people have them: each way in which a machine gives them out, from the files and services of AWS and rclone. */
let dir: string;
let store: RunningStore;
let services: KeyServices;
const content = randomBytes(12_000_000);

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), "tidemark-keys-"));
  store = await startStore({ dataDir: join(dir, "store"), control: "keys-control", flags: ["--no-fsync"] });
  services = await openKeyServices(store, dir);
  writeFileSync(join(dir, "file"), content);
});
afterAll(async () => {
  await services.close();
  await store.stop();
  rmSync(dir, { recursive: true, force: true });
});
beforeEach(() => {
  services.mode = "given";
  services.lifeMs = 3_600_000;
  services.given = 0;
});

const tidemark = (args: string[], env: Record<string, string>) =>
  runOnce(testedWorker(), args, { env: { TIDEMARK_STATE: join(dir, "state"), ...env } });

/** Nothing that a command said holds a secret. */
function holdsNoSecret(said: string): void {
  for (const secret of services.secrets) expect(said).not.toContain(secret);
  expect(said).not.toMatch(/stderr-secret|sso-access|header\.payload/);
}

describe.each(KEY_KINDS)("a key of the kind %s", (kind) => {
  test("is renewed while a transfer runs, so that one that ends does not end it", async () => {
    services.lifeMs = 1_500;
    const to = `s3://training/${kind.replace(" ", "-")}`;
    // About three seconds: twice the life of a key.
    const paced = ["--limit-up", "4MB", "--part-size", "5MiB", "--json"];
    const { code, stdout, stderr } = await tidemark(
      ["cp", ...paced, join(dir, "file"), to],
      services.environment(kind),
    );
    expect([code, stdout + stderr]).toEqual([0, expect.not.stringContaining('"type":"fault"')]);
    expect(services.given).toBeGreaterThan(1);
    holdsNoSecret(stdout + stderr);
    services.lifeMs = 3_600_000;
    const back = join(dir, `back-${kind}`);
    expect((await tidemark(["cp", to, back], services.environment(kind))).code).toBe(0);
    expect(readFileSync(back).equals(content)).toBe(true);
  });

  test("that is refused is one sentence: who refused, why, and what to do", async () => {
    services.mode = "refused";
    const { code, stderr } = await tidemark(["ls", "s3://training/"], services.environment(kind));
    expect([code, stderr]).toEqual([kind === "instance" ? 2 : 4, expect.stringMatching(SENTENCES[kind])]);
    expect(stderr.trim().split("\n")).toHaveLength(1);
    holdsNoSecret(stderr);
  });
});

const SENTENCES: Readonly<Record<KeyKind, RegExp>> = {
  role: /the role of the profile default: .*refused.*AccessDenied.*not authorized.*Fix that/,
  sso: /the SSO session of the profile default: .*refused.*Fix that/,
  process: /the credential_process of the profile default: .*refused.*exit code 7.*Fix that/,
  "web identity": /AWS_WEB_IDENTITY_TOKEN_FILE: .*refused.*AccessDenied.*Fix that/,
  container: /the role of this container: .*refused.*Fix that/,
  instance: /keys: .*AWS_ACCESS_KEY_ID.*--profile/,
};

test("who gives no answer is given up, whoever it is", async () => {
  services.mode = "held";
  const ends = await Promise.all(
    KEY_KINDS.map((kind) => runOnce(testedWorker(), ["ls", "s3://training/"], { env: services.environment(kind) })),
  );
  expect(ends.map(({ code }) => code)).toEqual([5, 5, 5, 5, 5, 2]);
  for (const { stderr } of ends.slice(0, 5)) expect(stderr).toMatch(/did not answer.*start the command again/);
});

describe("what is said explicitly", () => {
  test("wins over a profile, a role and a service", async () => {
    services.mode = "refused";
    const env = {
      ...services.environment("role"),
      AWS_ACCESS_KEY_ID: store.accessKey,
      AWS_SECRET_ACCESS_KEY: store.secretKey,
    };
    expect((await tidemark(["ls", "s3://training/"], env)).code).toBe(0);
    // A profile that is named by a variable alone does not.
    expect((await tidemark(["ls", "s3://training/"], { ...env, AWS_PROFILE: "gone" })).code).toBe(0);
    const named = await tidemark(["ls", "s3://training/", "--profile", "default"], env);
    expect([named.code, named.stderr]).toEqual([4, expect.stringContaining("the role of the profile default")]);
  });

  test("of a profile are its keys, and one that is not there is named beside those that are", async () => {
    const env = services.environment("instance");
    const at = { AWS_ENDPOINT_URL_S3: store.endpoint };
    expect((await tidemark(["ls", "s3://training/"], { ...env, ...at, AWS_PROFILE: "base" })).code).toBe(0);
    expect(services.given).toBe(0);
    const { code, stderr } = await tidemark(["ls", "s3://training/", "--profile", "basis"], env);
    expect([code, stderr]).toEqual([
      2,
      expect.stringMatching(/--profile basis: .*no profile of this name.*default, base/),
    ]);
  });
});

describe("a remote of rclone", () => {
  const conf = () => {
    const home = join(dir, "rclone-home");
    mkdirSync(join(home, ".config/rclone"), { recursive: true });
    const lines = [
      "[ours]",
      "type = s3",
      "provider = Minio",
      `endpoint = ${store.endpoint}/`,
      `access_key_id = ${store.accessKey}`,
      `secret_access_key = ${store.secretKey}`,
      "[sealed]",
      "type = crypt",
      "remote = ours:training",
      "[short]",
      "type = alias",
      "remote = ours:training",
      "[drive]",
      "type = drive",
      "[env]",
      "type = s3",
      "provider = Other",
      "env_auth = true",
      `endpoint = ${store.endpoint}`,
    ];
    writeFileSync(join(home, ".config/rclone/rclone.conf"), `${lines.join("\n")}\n`);
    return { HOME: home, AWS_EC2_METADATA_DISABLED: "true" };
  };

  test("is a store by its name, whatever the variables say", async () => {
    const env = {
      ...conf(),
      AWS_ACCESS_KEY_ID: "another",
      AWS_SECRET_ACCESS_KEY: "another",
      AWS_SESSION_TOKEN: "another",
    };
    const away = { ...env, AWS_ENDPOINT_URL: "http://127.0.0.1:9" };
    expect((await tidemark(["cp", join(dir, "file"), "rclone:ours:training/by-name/file"], away)).code).toBe(0);
    const listed = await tidemark(["ls", "rclone:ours:training/by-name/"], away);
    expect([listed.code, listed.stdout]).toEqual([0, expect.stringContaining("file")]);
    expect((await tidemark(["ls", "rclone:ours:"], away)).stdout).toContain("training");
    const back = join(dir, "by-name");
    expect((await tidemark(["cp", "rclone:ours:training/by-name/file", back], away)).code).toBe(0);
    expect(readFileSync(back).equals(content)).toBe(true);
  });

  test("takes its keys from the environment where it says so", async () => {
    const env = { ...conf(), AWS_ACCESS_KEY_ID: store.accessKey, AWS_SECRET_ACCESS_KEY: store.secretKey };
    expect((await tidemark(["ls", "rclone:env:training/"], env)).code).toBe(0);
    const none = await tidemark(["ls", "rclone:env:training/"], conf());
    expect([none.code, none.stderr]).toEqual([2, expect.stringContaining("they are missing")]);
  });

  test.each([
    ["rclone:sealed:a", /crypt remote.*only rclone can read/],
    ["rclone:short:a", /alias: name the remote/],
    ["rclone:drive:a", /its type is drive, which does not speak S3/],
    ["rclone:none:a", /no remote of this name.*there are ours, sealed/],
    ["rclone:ours", /named like rclone:REMOTE:bucket\/key/],
  ])("that cannot be used is refused in a sentence: %s", async (operand, sentence) => {
    const { code, stderr } = await tidemark(["ls", operand], conf());
    expect([code, stderr]).toEqual([2, expect.stringMatching(sentence)]);
  });

  test("in an encrypted file is refused with what to do", async () => {
    const file = join(dir, "encrypted.conf");
    writeFileSync(file, "# Encrypted rclone configuration File\n\nRCLONE_ENCRYPT_V0:\nabc\n");
    const { code, stderr } = await tidemark(["ls", "rclone:ours:training"], { ...conf(), RCLONE_CONFIG: file });
    expect([code, stderr]).toEqual([
      2,
      expect.stringMatching(/encrypted with a password; set RCLONE_CONFIG_REMOTE_TYPE/),
    ]);
  });
});
