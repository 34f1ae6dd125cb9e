import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { PROVIDERS } from "#protocol/base/provider-names.ts";
import { COMMANDS, isCommand } from "#worker/command-line/commands.ts";
import { FLAGS, flagsOf } from "#worker/command-line/flags.ts";
import { completionScript } from "./completion.ts";

let dir: string;
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), "tidemark-completion-"));
  mkdirSync(join(dir, "some folder"));
  writeFileSync(join(dir, "some-file"), "");
  for (const shell of ["bash", "zsh", "fish"]) writeFileSync(join(dir, shell), completionScript([shell]));
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const has = (shell: string): boolean => spawnSync(shell, ["-c", "exit 0"]).status === 0;
const commands = Object.keys(COMMANDS).filter(isCommand);

describe("in bash", () => {
  /** What bash would offer for the last word; it splits at `=` as readline does. */
  function offered(line: string): string[] {
    const words = line.split(" ").flatMap((word) => word.split(/(?==)|(?<==)/));
    const script = `
      source "$1"; shift
      COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
      _tidemark
      [ \${#COMPREPLY[@]} -eq 0 ] || printf '%s\\n' "\${COMPREPLY[@]}"`;
    const args = ["--noprofile", "--norc", "-c", script, "bash", join(dir, "bash"), ...words];
    const { status, stdout, stderr } = spawnSync("bash", args, { cwd: dir, encoding: "utf8" });
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    return stdout.split("\n").filter((one) => one !== "");
  }

  test("the first word is a command, all of them are offered and the right one is found", () => {
    expect(offered("tidemark ")).toEqual(commands);
    expect(offered("tidemark pres")).toEqual(["presign"]);
  });

  test("every flag of every command is offered under it, and no other", () => {
    for (const command of commands) {
      const wanted = flagsOf(command).flatMap(([name, { short }]) => [`--${name}`, ...(short ? [`-${short}`] : [])]);
      expect(offered(`tidemark ${command} -`), command).toEqual(wanted);
    }
  });

  test("values with fixed words are offered behind a blank and behind =", () => {
    expect(offered("tidemark presign --method ")).toEqual(["GET", "PUT"]);
    expect(offered("tidemark presign --method=P")).toEqual(["PUT"]);
    expect(offered("tidemark cp --provider=")).toEqual(["auto", ...PROVIDERS]);
    expect(offered("tidemark run --restart on")).toEqual(["on-failure", "on-failure:5"]);
  });

  test("a folder is offered where a folder is meant, whole even with a blank in its name", () => {
    expect(offered("tidemark agent --watch some")).toEqual(["some folder"]);
    expect(offered("tidemark cp --state=some")).toEqual(["some folder"]);
  });

  test("words of the commands themselves are offered to help, config and completion", () => {
    expect(offered("tidemark help sy")).toEqual(["sync"]);
    expect(offered("tidemark config ag")).toEqual(["agent"]);
    expect(offered("tidemark completion ")).toEqual(["bash", "zsh", "fish"]);
  });

  test("nothing of ours is offered for free values, files, and what belongs to a program", () => {
    expect(offered("tidemark cp --part-size ")).toEqual([]);
    expect(offered("tidemark cp some")).toEqual([]);
    expect(offered("tidemark run --watch x -- python -")).toEqual([]);
  });
});

// Where these shells are installed.
if (has("zsh")) {
  test("zsh reads its script, and takes it as the completion of tidemark", () => {
    const said = execFileSync(
      "zsh",
      [
        "-f",
        "-c",
        `autoload -Uz compinit && compinit -u -d ${dir}/dump && source ${dir}/zsh && print $_comps[tidemark]`,
      ],
      { encoding: "utf8" },
    );
    expect(said).toBe("_tidemark\n");
    expect(spawnSync("zsh", ["-n", join(dir, "zsh")], { encoding: "utf8" })).toMatchObject({ status: 0, stderr: "" });
  });
}
if (has("fish")) {
  test("fish offers commands, flags and fixed words", () => {
    const offered = (line: string) =>
      execFileSync("fish", ["--no-config", "-c", `source ${dir}/fish; complete -C ${JSON.stringify(line)}`], {
        cwd: dir,
        encoding: "utf8",
      })
        .split("\n")
        .filter((one) => one !== "")
        .map((one) => one.split("\t")[0]);
    expect(new Set(offered("tidemark "))).toEqual(new Set(commands));
    expect(offered("tidemark cp --part-")).toEqual(["--part-size"]);
    expect(offered("tidemark presign --method ")).toEqual(["GET", "PUT"]);
    expect(new Set(offered("tidemark cp some"))).toEqual(new Set(["some folder/", "some-file"]));
    expect(offered("tidemark version some")).toEqual([]);
  });
}

test.each([[[]], [["bash", "zsh"]], [["powershell"]]])(
  "%j is refused with the shells there are",
  (operands: string[]) => {
    expect(() => completionScript(operands)).toThrow("bash, zsh or fish");
  },
);

test("a shell with a typo is refused with the one that was meant", () => {
  expect(() => completionScript(["bahs"])).toThrow("did you mean bash?");
});

test("the table's words for providers are the providers there are", () => {
  expect(FLAGS.provider.words).toEqual(["auto", ...PROVIDERS]);
});
