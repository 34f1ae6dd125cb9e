import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { BenchView } from "#protocol/benchmarks/views.ts";
import { notPromised } from "../stage/json-lines.ts";
import { openStage, type Stage } from "../stage/open-stage.ts";
import { runOnce } from "../stage/run-once.ts";
import { startProcess } from "../stage/start-process.ts";
import { readCounters } from "../stage/store-control.ts";
import { waitUntil } from "../stage/wait-until.ts";
import { testedWorker } from "../stage/start-worker.ts";

/** `tidemark bench --profile` on a node that has joined a hub: what runs, with what, and what stays. */

let stage: Stage;
let state: string;
beforeAll(async () => {
  stage = await openStage();
  const worker = await stage.startNode({ name: "gpu", run: "gpu" });
  await waitUntil("it has joined", async () =>
    (await stage.client.nodes.list.query()).some(({ state: is }) => is === "online"),
  );
  await worker.stop();
  state = join(stage.dir, "nodes", "gpu", "state");
});
afterAll(() => stage.close());

const SMALL = ["--size", "6MB", "--part-size", "5MiB", "--concurrency", "3", "--seed", "7"];
/** No programs of others but those of the machine, and no key of a bucket. */
const env = { AWS_ACCESS_KEY_ID: "", AWS_SECRET_ACCESS_KEY: "" };
const argsOf = (...more: string[]): string[] => {
  const scratch = join(stage.dir, "scratch");
  return ["bench", "--profile", "stage bucket", "--state", state, "--scratch", scratch, ...SMALL, ...more];
};
const bench = (...more: string[]) => runOnce(testedWorker(), argsOf(...more), { env });
type Line = Record<string, unknown>;
const linesOf = (stdout: string, type: string): Line[] =>
  stdout
    .trimEnd()
    .split("\n")
    .map((line): Line => JSON.parse(line))
    .filter((line) => line["type"] === type);
const clean = (id: string): Promise<BenchView> =>
  waitUntil("the bucket is clean", async () => {
    const view = await stage.client.benchmarks.get.query({ id });
    return view.turnList.every(({ isClean }) => isClean) ? view : undefined;
  });
/** Everything of benchmarks that lies in the bucket. */
const lying = async (): Promise<string> => {
  const keys = {
    AWS_ACCESS_KEY_ID: stage.store.accessKey,
    AWS_SECRET_ACCESS_KEY: stage.store.secretKey,
    TIDEMARK_ENDPOINT: stage.store.endpoint,
  };
  const args = ["ls", "-r", `s3://${stage.store.bucket}/_tidemark/`];
  const { stdout } = await runOnce(testedWorker(), args, { env: keys });
  // The mark of the hub lies there too.
  return stdout.replace(/^.* hub\.json\n/m, "");
};

test("without a benchmark key, what needs one is left out and said so", async () => {
  const { code, stdout } = await bench("--engines", "all", "--directions", "down", "--json");
  expect(code).toBe(0);
  const engines = linesOf(stdout, "engine");
  const why = Object.fromEntries(engines.map(({ engine, missing }) => [engine, missing]));
  for (const name of ["sdk", "rclone", "boto3", "aws-cli", "s5cmd", "uplink"]) {
    expect(why[name]).toBe("it needs a key, and no admin has given a benchmark key for stage bucket");
  }
  expect(linesOf(stdout, "case").map(({ engine }) => engine)).toEqual(
    expect.arrayContaining(["tidemark", "tidemark-auto"]),
  );
  const named = await bench("--engines", "sdk");
  expect([named.code, named.stderr]).toEqual([3, expect.stringContaining("no admin has given a benchmark key")]);
});

test("with one it runs as well, and what is printed is what the hub keeps and shows", async () => {
  await stage.client.benchmarks.setKey.mutate({
    profileId: stage.profileId,
    key: { kind: "given", accessKeyId: stage.store.accessKey, secretAccessKey: stage.store.secretKey },
    grant: null,
  });
  const { code, stdout, stderr } = await bench("--engines", "tidemark,sdk", "--rounds", "2", "--json");
  expect([code, stderr]).toEqual([0, ""]);
  expect(notPromised(stdout.trimEnd().split("\n"))).toEqual([]);
  const cases = linesOf(stdout, "case");
  expect(cases).toHaveLength(8);
  const [result = {}] = linesOf(stdout, "bench");
  const id = String(result["id"]);
  expect(result).toMatchObject({ cases: 8, failed: 0, seed: 7, profile: "stage bucket" });
  expect(result["page"]).toBe(`${stage.hub.url}/benchmarks/${id}`);
  const view = await clean(id);
  expect(view).toMatchObject({
    state: "done",
    actor: "gpu (command line)",
    casesDone: 8,
    casesFailed: 0,
    nodes: 1,
  });
  const { rows } = await stage.client.benchmarks.cases.query({ id });
  const facts = ({ engine, direction, round, bytesPerSecond }: Line) => ({
    engine,
    direction,
    round,
    bytesPerSecond,
  });
  expect(rows.map((row) => facts({ ...row }))).toEqual(cases.map(facts));
  expect(view.turnList).toMatchObject([{ nodeName: "gpu", profileName: "stage bucket", state: "done", fault: null }]);
  const { targets } = await readCounters(stage.store, "PutObject");
  expect(targets.some(({ key }) => key.includes(view.turnList[0]?.id ?? "none"))).toBe(true);
  expect(await lying()).toBe("");
  expect(stdout).not.toContain(stage.store.secretKey);
});

test("the tables are those that one machine prints without a hub, with where the hub keeps them", async () => {
  const { code, stdout } = await bench("--engines", "tidemark", "--directions", "up");
  expect(code).toBe(0);
  expect(stdout).toMatch(/^Maximum up .*bps/m);
  expect(stdout).toMatch(/^Tidemark .*100\.0 %/m);
  expect(stdout).toContain("order of seed 7");
  expect(stdout).toMatch(new RegExp(`^Kept by the hub: ${stage.hub.url}/benchmarks/\\S+$`, "m"));
});

test("a bucket that the node does not write to is refused, and nothing is begun", async () => {
  const before = (await stage.client.benchmarks.list.query()).length;
  const other = await runOnce(testedWorker(), ["bench", "--profile", "elsewhere", "--state", state, ...SMALL], {
    env,
  });
  expect(other.code).toBe(4);
  expect(other.stderr).toContain(
    "elsewhere: This node does not write to such a bucket profile (it writes to stage bucket).",
  );
  expect(await stage.client.benchmarks.list.query()).toHaveLength(before);
});

/** Starts a benchmark of many rounds; resolves once it has told a case. */
const startLong = () =>
  startProcess({
    title: "bench",
    entry: testedWorker(),
    args: argsOf("--engines", "tidemark", "--rounds", "20", "--json"),
    env,
    readReady: (line) => (line.includes(`"type":"case"`) ? line : null),
  });

test("one that is stopped in the middle is cancelled at the hub, and leaves nothing", async () => {
  const running = await startLong();
  const begun = running.lines.find((line) => line.includes(`"type":"bench-started"`)) ?? "{}";
  const id = String((JSON.parse(begun) as Line)["id"]);
  expect(await stage.client.benchmarks.get.query({ id })).toMatchObject({ state: "running" });
  expect(await running.stop("SIGTERM")).toMatchObject({ code: 143 });
  const view = await clean(id);
  expect(view).toMatchObject({ state: "cancelled", turnList: [{ state: "cancelled" }] });
  expect(view.casesDone).toBeGreaterThan(0);
  expect(await lying()).toBe("");
});

test("one that an operator cancels ends on the node", async () => {
  const running = await startLong();
  const [newest] = await stage.client.benchmarks.list.query();
  const again = await bench("--engines", "tidemark");
  expect([again.code, again.stderr]).toEqual([4, expect.stringContaining("has its turn in a benchmark already")]);
  await stage.client.benchmarks.cancel.mutate({ id: newest?.id ?? "" });
  expect(await running.exited).toMatchObject({ code: 130 });
  await clean(newest?.id ?? "");
  expect(await lying()).toBe("");
});
