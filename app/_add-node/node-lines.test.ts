import { expect, test } from "vitest";
import { nodeLines, repositoryLine, shellWord } from "./node-lines.ts";

const input = { hubUrl: "https://hub.example.com", token: "tmj_abc", run: "my-run", watchFolder: "/checkpoints" };
const textOf = (id: string, over = {}): string =>
  nodeLines({ ...input, ...over }).find((line) => line.id === id)?.text ?? "";

test("every way carries the hub's address", () => {
  for (const line of nodeLines(input)) expect(line.text, line.id).toContain("https://hub.example.com");
});

test("the token is in every way but the image", () => {
  for (const line of nodeLines(input)) {
    if (line.id === "dockerfile") expect(line.text).not.toContain("tmj_abc");
    else expect(line.text, line.id).toContain("tmj_abc");
  }
});

test("plain http to another machine says so, to this machine it need not", () => {
  expect(textOf("node", { hubUrl: "http://10.0.0.5:4600" })).toContain("--allow-http");
  expect(textOf("salad", { hubUrl: "http://10.0.0.5:4600" })).toContain("TIDEMARK_ALLOW_HTTP=1");
  expect(textOf("node", { hubUrl: "http://127.0.0.1:4600" })).not.toContain("--allow-http");
  expect(textOf("node")).not.toContain("--allow-http");
});

test("a container reaches a hub on its own machine over the host's network", () => {
  expect(textOf("docker", { hubUrl: "http://localhost:4600" })).toContain("--network host");
  expect(textOf("compose", { hubUrl: "http://localhost:4600" })).toContain("network_mode: host");
  expect(textOf("docker")).not.toContain("--network host");
});

test("in containers it is the file that needs no Node, in images that have none", () => {
  for (const id of ["docker", "compose", "dockerfile"]) {
    expect(textOf(id)).toContain("dist/tidemark");
    expect(textOf(id)).not.toMatch(/\bnode\b|\.mjs/);
  }
});

test("a folder with spaces and quotes stays one word in the shell", () => {
  expect(shellWord("/my data/o'brien")).toBe("'/my data/o'\\''brien'");
  expect(repositoryLine({ ...input, watchFolder: "/a b" })).toContain("--watch '/a b'");
});

test("the repository line works as it stands", () => {
  expect(repositoryLine(input)).toBe(
    "npm run tidemark -- agent --hub https://hub.example.com --token tmj_abc --state ./tidemark-state --watch /checkpoints --run my-run",
  );
});
