import { execFileSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { copyForms, quoteWord } from "./copy-forms.ts";

const profile = {
  name: "p",
  provider: "minio",
  bucket: "training",
  region: "us-east-1",
  prefix: "",
  endpoint: "http://127.0.0.1:9000",
  workerEndpoint: null,
  browserEndpoint: null,
  addressing: "path",
} as const;

const KEYS = [
  "plain/model.bin",
  "with space/it's.bin",
  "$(touch gone)/`id`.bin",
  "a\nb\tc\u0001.bin",
  "-rf/--output.bin",
  "\u202etxt.exe",
  "back\\slash'\n.bin",
  "日本語/😀\u0007.bin",
  "up/../..",
];

/** What a shell makes of a line: its words. */
const wordsOf = (line: string): string[] =>
  execFileSync("bash", ["-c", `printf '%s\\0' ${line}`])
    .toString()
    .split("\0")
    .slice(0, -1);

describe("a line to paste", () => {
  it.each(KEYS)("carries the key %j to a shell as one word, and runs nothing of it", (key) => {
    expect(wordsOf(quoteWord(key))).toEqual([key]);
    const [uri, , aws, curl] = copyForms(profile, key);
    expect(uri?.text).toBe(`s3://training/${key}`);
    const words = wordsOf(aws?.text ?? "");
    expect(words.slice(0, 4)).toEqual(["aws", "s3", "cp", `s3://training/${key}`]);
    expect(words[4]).toMatch(/^\.\//);
    expect((words[4] ?? "").slice(2)).not.toContain("/");
    const url = wordsOf((curl?.text ?? "").replace("$AWS_ACCESS_KEY_ID:$AWS_SECRET_ACCESS_KEY", "k:s")).at(-1) ?? "";
    expect(url.startsWith("http://127.0.0.1:9000/training/")).toBe(true);
    expect(decodeURIComponent(url.slice("http://127.0.0.1:9000/training/".length))).toBe(key);
  });

  it("for a folder takes all of it", () => {
    const forms = copyForms({ ...profile, addressing: "virtual-host", endpoint: "https://s3.example.com" }, "runs/");
    expect(forms.map(({ id }) => id)).toEqual(["s3", "tidemark", "aws"]);
    expect(forms[2]?.text).toBe(
      "aws s3 cp s3://training/runs/ ./ --recursive --endpoint-url https://s3.example.com --region us-east-1",
    );
  });

  it("asks the bucket's own host where the profile does", () => {
    const forms = copyForms(
      { ...profile, addressing: "virtual-host", endpoint: "https://s3.example.com" },
      "a b/c.bin",
    );
    expect(forms[3]?.text).toContain(" https://training.s3.example.com/a%20b/c.bin");
  });
});
