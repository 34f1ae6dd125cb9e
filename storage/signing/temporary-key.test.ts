import { describe, expect, test } from "vitest";
import { readTemporaryKey } from "./read-temporary-key.ts";
import { askTemporaryKey, lifetimeFor, type TemporaryAsk } from "./temporary-key.ts";

const MINUTE_MS = 60_000;
const ROLE = "arn:aws:iam::123456789012:role/bench";
const scope = {
  credential: { accessKeyId: "AKIAEXAMPLE", secretAccessKey: "stays-where-it-is" },
  nowMs: Date.UTC(2026, 10, 22),
};
const ask: TemporaryAsk = {
  way: { call: "sts", endpoint: "https://sts.eu-central-1.amazonaws.com", roleArn: null },
  isAws: true,
  region: "eu-central-1",
  bucket: "training",
  folder: "team/_tidemark/bench/0123456789abcdef/",
  lifetimeMs: 40 * MINUTE_MS,
};
const asked = (changes: Partial<TemporaryAsk> = {}) => {
  const { url, headers, body } = askTemporaryKey({ ...ask, ...changes }, scope);
  return { url, headers, body, said: Object.fromEntries(new URLSearchParams(body)) };
};
const statements = (changes: Partial<TemporaryAsk> = {}) =>
  JSON.parse(asked(changes).said["Policy"] ?? "").Statement as Record<string, unknown>[];

describe("the question for a temporary key", () => {
  test("is signed for the service, with its body, and holds no secret", () => {
    const { url, headers, body } = asked();
    expect(url).toBe("https://sts.eu-central-1.amazonaws.com/");
    expect(headers["authorization"]).toMatch(
      /^AWS4-HMAC-SHA256 Credential=AKIAEXAMPLE\/20261122\/eu-central-1\/sts\/aws4_request, SignedHeaders=content-type;host;x-amz-content-sha256;x-amz-date, /,
    );
    expect(askTemporaryKey({ ...ask, lifetimeMs: 50 * MINUTE_MS }, scope).headers["authorization"]).not.toBe(
      headers["authorization"],
    );
    expect(JSON.stringify([headers, body])).not.toContain(scope.credential.secretAccessKey);
  });

  test("allows reading and writing below the folder and listing it, and no deletion", () => {
    const [objects, bucket, ...more] = statements();
    expect(more).toEqual([]);
    expect(objects).toMatchObject({ Effect: "Allow", Resource: [`arn:aws:s3:::training/${ask.folder}*`] });
    expect(bucket).toEqual({
      Effect: "Allow",
      Action: ["s3:ListBucket"],
      Resource: ["arn:aws:s3:::training"],
      Condition: { StringLike: { "s3:prefix": [`${ask.folder}*`] } },
    });
    expect(JSON.stringify([objects, bucket])).not.toMatch(/Delete|s3:\*/);
  });

  test.each([
    ["cn-north-1", "arn:aws-cn:s3:::training"],
    ["us-gov-west-1", "arn:aws-us-gov:s3:::training"],
    ["auto", "arn:aws:s3:::training"],
  ])("names the bucket as %s does", (region, resource) => {
    expect(statements({ region })[1]).toMatchObject({ Resource: [resource] });
  });

  test("asks AWS for a federated user, and a role or another store to be assumed", () => {
    expect(asked().said).toMatchObject({ Action: "GetFederationToken", Name: "tidemark-benchmark" });
    const role = { way: { ...ask.way, roleArn: ROLE } };
    expect(asked(role).said).toMatchObject({ Action: "AssumeRole", RoleArn: ROLE });
    const { said } = asked({ isAws: false });
    expect(said).toMatchObject({ Action: "AssumeRole", RoleSessionName: "tidemark-benchmark" });
    expect(said).not.toHaveProperty("RoleArn");
  });

  test("stays within what services give", () => {
    const seconds = (changes: Partial<TemporaryAsk>) => Number(asked(changes).said["DurationSeconds"]);
    expect(seconds({})).toBe(2400);
    expect(seconds({ lifetimeMs: MINUTE_MS })).toBe(900);
    expect(seconds({ lifetimeMs: 3000 * MINUTE_MS })).toBe(43_200);
    expect(lifetimeFor({ way: { ...ask.way, roleArn: ROLE }, lifetimeMs: 3000 * MINUTE_MS })).toBe(60 * MINUTE_MS);
  });

  test.each([
    "",
    "runs/",
    "team/_tidemark/bench/",
    "team/_tidemark/bench/*/",
    "*/_tidemark/bench/0123/",
    "team/_tidemark/bench/0123",
    "team/_tidemark/bench/0123/${aws:username}/",
    "team/_tidemark/bench/../../runs/",
  ])("is not asked for the folder %j", (folder) => {
    expect(() => askTemporaryKey({ ...ask, folder }, scope)).toThrow(expect.objectContaining({ code: "BAD_INPUT" }));
  });
});

describe("the answer", () => {
  const about = { op: "AssumeRole", subject: "https://sts.example.com" };
  const answer = (body: string, status = 200) => ({ status, headers: {}, body: Buffer.from(body) });
  const KEY =
    "<AccessKeyId>ASIA</AccessKeyId><SecretAccessKey>s&amp;t</SecretAccessKey><SessionToken>to/ken==</SessionToken>";
  const whole = (key: string) =>
    `<AssumeRoleResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleResult><Credentials>${key}</Credentials></AssumeRoleResult></AssumeRoleResponse>`;

  test("is the key", () => {
    expect(readTemporaryKey(answer(whole(KEY)), about)).toEqual({
      accessKeyId: "ASIA",
      secretAccessKey: "s&t",
      sessionToken: "to/ken==",
    });
  });

  test.each([
    [
      "a refusal",
      "<ErrorResponse><Error><Code>AccessDenied</Code><Message>no</Message></Error></ErrorResponse>",
      403,
      "ACCESS_DENIED",
    ],
    [
      "a key nobody knows",
      "<ErrorResponse><Error><Code>InvalidClientTokenId</Code></Error></ErrorResponse>",
      403,
      "BAD_CREDENTIALS",
    ],
    [
      "of a store that makes no keys",
      "<Error><Code>AuthorizationHeaderMalformed</Code><Message>expected s3</Message></Error>",
      400,
      "UNSUPPORTED",
    ],
    ["a refusal with status 200", "<Error><Code>AccessDenied</Code></Error>", 200, "ACCESS_DENIED"],
    ["a sign-in page", "<!doctype html><html></html>", 200, "INTERCEPTED"],
    ["half a key", whole(KEY.slice(0, KEY.indexOf("<SessionToken>"))), 200, "UNEXPECTED_ANSWER"],
    [
      "the answer to another question",
      whole(KEY).replaceAll("AssumeRole", "GetSessionToken"),
      200,
      "UNEXPECTED_ANSWER",
    ],
    ["nothing", "", 200, "UNEXPECTED_ANSWER"],
  ] as const)("that is %s is no key", (...[, body, status, code]) => {
    expect(() => readTemporaryKey(answer(body, status), about)).toThrow(expect.objectContaining({ code }));
  });
});
