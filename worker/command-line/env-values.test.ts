import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { nameStore } from "../keys/named-store.ts";
import { resolveConfig } from "./config.ts";

/** Values as files of variables leave them, and lists whose separator is a part of a value. */
let dir: string;
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), "tidemark-env-"));
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const read = (command: "cp" | "agent", env: Record<string, string>) =>
  resolveConfig({ command, flags: new Map(), env });

describe("a value from a file of variables", () => {
  test.each([
    ['"key"', "has quotes around it"],
    ["'key'", "has quotes around it"],
    ["key\r", "Windows"],
    ["\ufeffkey", "byte order mark"],
    ['"key', "nothing closes"],
    ["key'", "nothing opens"],
    ["key ", "ends with a space"],
    ["key\u200b", "nobody sees"],
    ["export AWS_REGION=key", "whole line"],
  ])("that is %j is refused as that, and is not in the sentence", (value, why) => {
    for (const name of [
      "AWS_SECRET_ACCESS_KEY",
      "AWS_ACCESS_KEY_ID",
      "AWS_SESSION_TOKEN",
      "AWS_ENDPOINT_URL",
      "TIDEMARK_REGION",
      "TIDEMARK_EXCLUDE",
      "TIDEMARK_PART_SIZE",
    ]) {
      const detail = expect.stringContaining(why) as string;
      expect(() => read("cp", { [name]: value })).toThrow(
        expect.objectContaining({
          code: "BAD_INPUT",
          context: expect.objectContaining({ subject: name, detail }) as object,
        }),
      );
    }
  });

  test("beside the settings is refused where keys are looked for there, and not where nobody looks", () => {
    const keys = { AWS_ACCESS_KEY_ID: "AKIA", AWS_SECRET_ACCESS_KEY: "secret" };
    const ask = (env: Record<string, string>, ...operands: string[]) =>
      nameStore(read("cp", { HOME: dir, ...env }), { command: "cp", operands });
    for (const name of ["AWS_ROLE_ARN", "AWS_CONFIG_FILE", "AWS_CONTAINER_AUTHORIZATION_TOKEN"]) {
      expect(() => ask({ [name]: '"value' }, "s3://b/k", "k")).toThrow(
        expect.objectContaining({ context: expect.objectContaining({ subject: name }) as object }),
      );
    }
    expect(ask({ ...keys, AWS_ROLE_ARN: '"value' }, "s3://b/k", "k")).toBeNull();
    const odd = { RCLONE_CONFIG_R2_SECRET_ACCESS_KEY: "'value'", RCLONE_CONFIG_R2_TYPE: "s3" };
    expect(() => ask(odd, "rclone:r2:b/k", "k")).toThrow(
      expect.objectContaining({
        context: expect.objectContaining({ subject: "RCLONE_CONFIG_R2_SECRET_ACCESS_KEY" }) as object,
      }),
    );
  });

  test("in a secret's own file may end with a line, and may not have quotes", () => {
    writeFileSync(join(dir, "token"), "\ufefftm_secret\r\n");
    expect(read("agent", { TIDEMARK_TOKEN_FILE: join(dir, "token") }).text("token")).toBe("tm_secret");
    writeFileSync(join(dir, "token"), '"tm_secret"\n');
    expect(() => read("agent", { TIDEMARK_TOKEN_FILE: join(dir, "token") })).toThrow(
      expect.objectContaining({ code: "BAD_INPUT" }),
    );
  });
});

describe("TIDEMARK_WATCH", () => {
  const watched = (value: string) => read("agent", { TIDEMARK_WATCH: value }).list("watch");

  test("is several folders with colons between them", () => {
    expect(watched("/data/a:/data/b")).toEqual(["/data/a", "/data/b"]);
    expect(watched("a:./b:~/c")).toEqual(["a", "./b", "~/c"]);
    expect(watched("worker:server/core")).toEqual(["worker", "server/core"]);
  });

  test("takes a colon inside a path where the folder is there, or where it is written with a backslash", () => {
    mkdirSync(join(dir, "run:2"));
    expect(watched(join(dir, "run:2"))).toEqual([join(dir, "run:2")]);
    expect(watched(`/data/a:${join(dir, "run:2")}:/data/b`)).toEqual(["/data/a", join(dir, "run:2"), "/data/b"]);
    expect(watched("runs\\:a/b")).toEqual(["runs:a/b"]);
    expect(watched("/data/run\\:2:/data/b")).toEqual(["/data/run:2", "/data/b"]);
  });

  test.each([
    ["/data/run:2", "write ./2"],
    ["runs:a/b", "write ./a/b"],
    ["/data/a:/data/b:c", "write ./c"],
    ["s3://bucket/runs", "not an address"],
  ])("%s, which may be meant in two ways, is refused with both", (value, way) => {
    for (const name of ["TIDEMARK_WATCH", "TIDEMARK_RESTORE_TO"]) {
      expect(() => read("agent", { [name]: value })).toThrow(
        expect.objectContaining({
          context: expect.objectContaining({
            subject: `${name} ${value}`,
            detail: expect.stringContaining(way) as string,
          }) as object,
        }),
      );
    }
  });
});

test("a comma inside of braces belongs to the glob", () => {
  const { rules } = read("cp", { TIDEMARK_INCLUDE: "*.{bin,pt},/a{b,{c,d}}/**,e\\,f" });
  expect(rules.map(({ glob }) => glob)).toEqual(["*.{bin,pt}", "/a{b,{c,d}}/**", "e,f"]);
});
