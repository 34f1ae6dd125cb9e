import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { readAwsProfile } from "./aws-profile.ts";
import { readKeyFacts } from "../command-line/key-facts.ts";

let dir: string;
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), "tidemark-profile-"));
  const many = Array.from({ length: 200 }, (_, index) => `[profile account-${index}]\nregion = eu-west-1\n`).join("");
  const config = `${many}
[default]
region = eu-central-1
endpoint_url = https://all.example.com
aws_access_key_id = in-config
[profile "with spaces"]
services = ours
s3 =
  addressing_style = virtual
[services ours]
dynamodb =
  endpoint_url = https://other.example.com
s3 =
  endpoint_url = https://s3.example.com/storage/v1/s3
[profile role]
role_arn = arn:aws:iam::123456789012:role/a
aws_access_key_id = beside
aws_secret_access_key = beside
`;
  writeFileSync(join(dir, "config"), config);
  writeFileSync(join(dir, "credentials"), "[default]\naws_access_key_id = in-keys\naws_secret_access_key = secret\n");
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const facts = (env: Record<string, string> = {}) =>
  readKeyFacts({ AWS_CONFIG_FILE: join(dir, "config"), AWS_SHARED_CREDENTIALS_FILE: join(dir, "credentials"), ...env });
const named = (name: string) => readAwsProfile(facts(), { name, source: "--profile" });

test("the file of keys wins over the other, and the place is of both", () => {
  expect(readAwsProfile(facts(), null)).toMatchObject({
    region: "eu-central-1",
    endpoint: "https://all.example.com",
    key: { accessKeyId: "in-keys", secretAccessKey: "secret" },
    keysBy: null,
  });
});

test("an endpoint for S3 in a services section counts, one of another service does not", () => {
  expect(named("with spaces")).toMatchObject({
    endpoint: "https://s3.example.com/storage/v1/s3",
    addressing: "virtual-host",
  });
});

test("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS leaves the endpoints of the files out", () => {
  expect(readAwsProfile(facts({ AWS_IGNORE_CONFIGURED_ENDPOINT_URLS: "true" }), null).endpoint).toBeNull();
});

test("a role beside a key is the role, and a file may have hundreds of profiles before it", () => {
  expect(named("role")).toMatchObject({ key: null, keysBy: "role_arn" });
  expect(named("account-150").region).toBe("eu-west-1");
});

test("a profile that is not there is refused with some of those that are", () => {
  expect(() => named("account-1500")).toThrow(/--profile account-1500.*no profile of this name.*account-0, account-1/);
});
