import { describe, expect, it } from "vitest";
import type { LintFinding } from "#protocol/wire/profiles.ts";
import { readImport } from "./read-import.ts";
import { readSize } from "./rclone-sizes.ts";

const REMOTES = `[storj]
type = s3
provider = Storj
endpoint = gateway.storjshare.io
access_key_id = a1
secret_access_key = b2
[r2]
type = s3
provider = Cloudflare
endpoint = https://abc.r2.cloudflarestorage.com
access_key_id = a1
secret_access_key = b2
`;
const GOOD = "--s3-chunk-size 64M --s3-upload-concurrency 16 --transfers 1 --disable-http2 --s3-no-check-bucket";

const lint = (command: string): LintFinding[] => readImport(`${REMOTES}\n${command}\n`).findings;
const bad = (command: string): string[] =>
  lint(command)
    .filter(({ weight }) => weight !== "note")
    .map(({ what }) => what);
const about = (command: string, what: string): LintFinding | undefined =>
  lint(command).find((finding) => finding.what.startsWith(what));

describe("a command of rclone", () => {
  it("that does it well is only told what it takes of memory", () => {
    const command = `rclone copy ./out r2:training/llama ${GOOD}`;
    expect(bad(command)).toEqual([]);
    expect(about(command, "memory")?.why).toContain("1 × 16 × 64.0 MiB = 1.0 GiB");
  });

  it("that asks for more files at a time to speed up one is told which flag that is", () => {
    const command = "rclone copyto ./200MB.file r2:training/x --s3-chunk-size=10M --transfers=10";
    expect(about(command, "--transfers 10")).toMatchObject({ weight: "wrong" });
    expect(about(command, "--transfers 10")?.use).toContain("--s3-upload-concurrency");
  });

  it("that would fill the memory is shown the sum", () => {
    const command =
      "rclone copy ./a r2:b/c --transfers 8 --s3-upload-concurrency 16 --s3-chunk-size 64M --disable-http2";
    expect(about(command, "--transfers, --s3-upload-concurrency, --s3-chunk-size")?.why).toContain(
      "8 × 16 × 64.0 MiB = 8.0 GiB",
    );
    expect(lint(command).filter(({ why }) => why.includes("128 parts in flight"))).toHaveLength(1);
  });

  it.each([
    ["5M", "doubtful"],
    ["64", "wrong"],
    ["67108864", "wrong"],
    ["lots", "wrong"],
  ])("with chunks of %s hears that this is %s", (size, weight) => {
    expect(about(`rclone copy a r2:b ${GOOD} --s3-chunk-size ${size}`, "--s3-chunk-size")?.weight).toBe(weight);
  });

  it("to Storj is held to segments", () => {
    const of = (size: string) => bad(`rclone copy a storj:b ${GOOD} --s3-chunk-size ${size}`);
    expect(of("50M")).toContain("--s3-chunk-size");
    expect(of("128M")).not.toContain("--s3-chunk-size");
  });

  it.each([
    ["--ignore-checksum", "--ignore-checksum"],
    ["--s3-disable-checksum", "--s3-disable-checksum"],
    ["--size-only", "--size-only"],
    ["--ignore-size", "--ignore-size"],
    ["--retries 1", "--retries"],
    ["--low-level-retries=1", "--low-level-retries"],
    ["--no-check-certificate", "--no-check-certificate"],
    ["--inplace", "--inplace"],
    ["--timeout 0", "--timeout"],
    ["--bwlimit 100", "--bwlimit"],
    ["--upload-concurrency 8", "--upload-concurrency"],
    ["--chunk-size=64M", "--chunk-size"],
    ["--multi-thread-streams 1", "--multi-thread-streams 1"],
    ["--s3-upload-cutoff 5G", "--s3-upload-cutoff 5.0 GiB"],
  ])("with %s hears of it, and without it does not", (flags, what) => {
    expect(bad(`rclone copy a r2:b ${GOOD} ${flags}`)).toEqual([what]);
  });

  it.each(["--retries 5", "--low-level-retries 20", "--bwlimit 12M", "--timeout 1m", "--inplace=false"])(
    "with %s hears nothing",
    (flags) => {
      expect(bad(`rclone copy a r2:b ${GOOD} ${flags}`)).toEqual([]);
    },
  );

  it("that syncs hears what goes with it", () => {
    expect(bad(`rclone sync a r2:b ${GOOD}`)).toEqual(["rclone sync"]);
  });

  it("over several lines, with quotes and a pipe behind it, is one command", () => {
    const command = `$ sudo rclone copy "./my runs" r2:training \\\n  --retries 1 \\\n  ${GOOD} | tee log --inplace`;
    expect(bad(command)).toEqual(["--retries"]);
  });

  it("with its key in it hears that others can see it, without the key being shown", () => {
    const findings = lint("rclone copy a :s3:bucket --s3-secret-access-key=planted-canary");
    expect(findings.map(({ what }) => what)).toContain("--s3-secret-access-key");
    expect(JSON.stringify(findings)).not.toContain("planted");
  });
});

describe("options of a remote", () => {
  it("are judged without a command", () => {
    const { findings } = readImport(`${REMOTES}chunk_size = 5M\nupload_concurrency = 2\n`);
    expect(findings.map(({ what }) => what)).toContain("--s3-chunk-size");
  });

  it("that say nothing of transfers are not", () => {
    expect(readImport(REMOTES).findings).toEqual([]);
  });
});

describe("a size of rclone", () => {
  it.each([
    ["64M", 64 * 1024 ** 2],
    ["64Mi", 64 * 1024 ** 2],
    ["64MiB", 64 * 1024 ** 2],
    ["1.5G", 1.5 * 1024 ** 3],
    ["64", 64 * 1024],
    ["10b", 10],
    ["off", null],
    ["1e9", null],
    ["-5M", null],
  ])("%s is %s bytes", (text, bytes) => {
    expect(readSize(text)).toBe(bytes);
  });
});
