import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
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
  ])("that is %j is refused as that, and is not in the sentence", (value, why) => {
    for (const name of ["AWS_SECRET_ACCESS_KEY", "TIDEMARK_REGION"]) {
      const detail = expect.stringContaining(why) as string;
      expect(() => read("cp", { [name]: value })).toThrow(
        expect.objectContaining({
          code: "BAD_INPUT",
          context: expect.objectContaining({ subject: name, detail }) as object,
        }),
      );
    }
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
    expect(watched("a:b")).toEqual(["a", "b"]);
  });

  test("takes a colon inside a path where the folder is there, or where it is written with a backslash", () => {
    mkdirSync(join(dir, "run:2"));
    expect(watched(join(dir, "run:2"))).toEqual([join(dir, "run:2")]);
    expect(watched("/data/run\\:2:/data/b")).toEqual(["/data/run:2", "/data/b"]);
  });

  test("that may be meant in two ways is refused with both", () => {
    expect(() => watched("/data/run:2")).toThrow(
      expect.objectContaining({
        context: expect.objectContaining({ detail: expect.stringContaining("./2") }) as object,
      }),
    );
  });
});

test("a comma inside of braces belongs to the glob", () => {
  const { rules } = read("cp", { TIDEMARK_INCLUDE: "*.{bin,pt},/a{b,{c,d}}/**,e\\,f" });
  expect(rules.map(({ glob }) => glob)).toEqual(["*.{bin,pt}", "/a{b,{c,d}}/**", "e,f"]);
});
