import { describe, expect, it } from "vitest";
import { kelpieListQuery, kelpieStorage, kelpieSubmission } from "./kelpie.ts";

const JOB = { command: "python", container_group_id: "group-1", sync: {} };
const LEGACY = {
  input_bucket: "in",
  input_prefix: "a/",
  checkpoint_bucket: "ckpt",
  checkpoint_prefix: "b/",
  output_bucket: "out",
  output_prefix: "c/",
};
const entry = (changes: object = {}) => ({
  bucket: "b",
  prefix: "p/",
  local_path: "/data",
  direction: "upload",
  ...changes,
});
const read = (changes: object = {}) => kelpieSubmission.safeParse({ ...JOB, ...changes });
const issueOf = (changes: object): string => read(changes).error?.issues[0]?.message ?? "";

describe("a submission of Kelpie", () => {
  it("has either sync or all of the six older fields", () => {
    expect(issueOf(LEGACY)).toBe("Cannot use both sync and bucket/prefix");
    expect(issueOf({ sync: undefined })).toBe("Must use either sync or bucket/prefix");
    expect(issueOf({ sync: undefined, ...LEGACY, output_prefix: undefined })).toBe(
      "Must use either sync or bucket/prefix",
    );
    expect(read({ sync: undefined, ...LEGACY }).success).toBe(true);
  });

  it("downloads before and uploads during and after", () => {
    expect(issueOf({ sync: { before: [entry()] } })).toBe('sync.before.direction must be "download"');
    expect(issueOf({ sync: { during: [entry({ direction: "download" })] } })).toBe(
      'sync.during.direction must be "upload"',
    );
    expect(issueOf({ sync: { after: [entry({ direction: "download" })] } })).toBe(
      'sync.after.direction must be "upload"',
    );
  });

  it.each([
    ["a pattern that is no regular expression", { sync: { after: [entry({ pattern: "(" })] } }],
    ["a prefix that is too long with its slash", { sync: { after: [entry({ prefix: "x".repeat(1_024) })] } }],
    ["more rules than a worker can watch", { sync: { after: Array.from({ length: 33 }, () => entry()) } }],
    ["a webhook that is no web address", { webhook: "file:///etc/passwd" }],
    ["no failures at all", { max_failures: 0 }],
    ["heartbeats without a pause", { heartbeat_interval: 0 }],
    ["a group that is no name of a queue", { container_group_id: "a b" }],
    ["a command that ends early", { command: "python\0x" }],
    ["too long a command", { arguments: Array.from({ length: 200 }, () => "x".repeat(200)) }],
    ["half a surrogate pair in a key", { sync: { after: [entry({ prefix: "a\ud800" })] } }],
  ])("with %s is refused", (_what, changes) => {
    expect(read(changes).success).toBe(false);
  });

  it("has as many characters in its rules, or its older fields, as in its command, all of them together", () => {
    const long = "x".repeat(1_000);
    const rules = (count: number) =>
      Array.from({ length: count }, () => entry({ prefix: long, local_path: long, pattern: long }));
    const words =
      "command, arguments, environment, sync, buckets and prefixes have more than 32768 characters together";
    expect(issueOf({ sync: { during: rules(10) } })).toBe("");
    expect(issueOf({ sync: { during: rules(11) } })).toBe(words);
    expect(issueOf({ sync: { during: rules(5), after: rules(5) }, arguments: [long, long, long] })).toBe(words);
    const older = { sync: undefined, ...LEGACY, input_prefix: long, checkpoint_prefix: long, output_prefix: long };
    const args = (chars: number) => Array.from({ length: 10 }, () => "x".repeat(chars / 10));
    expect(issueOf({ ...older, arguments: args(29_000) })).toBe("");
    expect(issueOf({ ...older, arguments: args(30_000) })).toBe(words);
  });

  it("is stored in a form that can be read again", () => {
    const sync = { before: [entry({ direction: "download", prefix: "x".repeat(1_023) })] };
    for (const changes of [{ sync }, { sync: undefined, ...LEGACY }]) {
      const { storage } = kelpieSubmission.parse({ ...JOB, ...changes });
      expect(kelpieStorage.parse(JSON.parse(JSON.stringify(storage)))).toEqual(storage);
    }
  });

  it("is named after its program and what that is started with, but not after flags, which may hold keys", () => {
    const nameOf = (command: string, ...args: string[]) =>
      kelpieSubmission.parse({ command, arguments: args, container_group_id: "g", sync: {} }).spec.name;
    expect(nameOf("/usr/bin/python", "train.py", "--token", "hf_secret")).toBe("python train.py");
    expect(nameOf("python", "--wandb-key=secret", "train.py")).toBe("python");
    expect(nameOf("sh")).toBe("sh");
    const long = nameOf("python", `train.py${"😀".repeat(200)}`) ?? "";
    expect([long.isWellFormed(), long.startsWith("python train.py😀")]).toEqual([true, true]);
  });
});

describe("a list of Kelpie", () => {
  const query = (changes: object) => kelpieListQuery.safeParse(changes);

  it.each([
    ["True", true],
    ["true", true],
    ["False", false],
    ["FALSE", false],
    [undefined, false],
  ])("with asc=%s is read as Python's requests writes it", (asc, is) => {
    expect(query({ asc }).data?.asc).toBe(is);
  });

  it("with any other word for asc is refused", () => {
    for (const asc of ["1", "yes", ""]) expect(query({ asc }).success).toBe(false);
  });

  it("ends at the millionth job, because the database walks over all rows before a page", () => {
    expect(query({ page: "1000", page_size: "1000" }).success).toBe(true);
    expect(query({ page: "10000" }).success).toBe(true);
    const { error } = query({ page: "1001", page_size: "1000" });
    expect(error?.issues[0]).toMatchObject({
      path: [],
      message: "page times page_size is more than 1000000: list the jobs of one status or container_group_id",
    });
  });
});
