import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { FAULTS } from "#protocol/faults/fault-table.ts";
import { build } from "../gate/build.ts";
import { runOnce } from "../stage/run-once.ts";
import { ROOT } from "../stage/start-process.ts";

/** Every command, asked wrongly: one sentence that says what was wrong and what would be right, code 2, nothing done. */

const HUB = "https://hub.example.com";
const ROWS: readonly (readonly [line: string, says: string])[] = [
  ["agent", "--to s3://bucket/prefix, or --hub URL"],
  ["agent --hub nonsense", "an address looks like https://hub.example.com"],
  ["agent --hub http://hub.example.com", "--allow-http"],
  [`agent --hub ${HUB} /checkpoints`, "agent takes flags only"],
  [`agent --hub ${HUB} --wach x`, "did you mean --watch?"],
  [`agent --hub ${HUB} --label x`, "region=us-east"],
  [`agent --hub ${HUB} --name a/b`, "a node name has"],
  [`agent --hub ${HUB}`, "needs a join token"],
  [`agent --hub ${HUB} --disk-budget much`, "a size looks like"],
  ["compare a b", "--to"],
  ["compare a --to s3://bucket/p", "it takes two checkpoints"],
  ["compare a@1 b@2 --to folder", "s3://bucket/prefix"],
  ["keygen", "it takes one new file"],
  ["keygen package.json", "a key is never overwritten"],
  [`agent --hub ${HUB} --token x --watch here --pattern [a`, "a [ is never closed"],
  [`agent --hub ${HUB} --settle soon`, "a duration looks like"],
  ["run", "tidemark run -- python train.py"],
  [`run --hub ${HUB} --watch here`, "the program is missing"],
  ["run -- true", "--to s3://bucket/prefix, or --hub URL"],
  [`run --hub ${HUB} --watch here --restart maybe -- true`, "no, on-failure or on-failure:5"],
  [`run --hub ${HUB} --watch here --grace 0 -- true`, "no time to say what is not safe"],
  [`agent --hub ${HUB} --local-port 70000`, "a port is 65535 or less"],
  ["work", "jobs come from a hub"],
  [`work --hub ${HUB} --queue a/b`, "a queue's name has"],
  [`work --hub ${HUB} -- true`, "work takes flags only"],
  [
    "jobs",
    "it takes submit, list, show, logs, cancel, retry, queues, pause, resume, cap, schedule, schedules, unschedule, import",
  ],
  ["jobs sbmit", "did you mean submit?"],
  [`jobs submit --hub ${HUB} --api-token tmk_x --dry-run --matrix a=1..2000 -- true`, "it makes 2,000 jobs"],
  [`jobs submit --hub ${HUB} --api-token tmk_x --dry-run --matrix a=1 -- echo {{b}}`, "{{b}} is no parameter"],
  [`jobs submit --hub ${HUB} --api-token tmk_x --secret HF_TOKEN=hf_x -- true`, "it takes a name alone"],
  [`jobs submit --hub ${HUB} --api-token tmk_x --secret NOT_SET_HERE -- true`, "which has no NOT_SET_HERE"],
  [`jobs logs --hub ${HUB} --api-token tmk_x`, "it takes the id of one job"],
  [`jobs logs --hub ${HUB} --api-token tmk_x 0123456789 --attempt 0`, "attempts are counted from 1"],
  [`jobs cap --hub ${HUB} --api-token tmk_x default`, "name a cap"],
  [`jobs cap --hub ${HUB} --api-token tmk_x default --most-running 0`, "a whole number from 1, or any"],
  [`jobs schedule --hub ${HUB} --api-token tmk_x nightly -- true`, "it says when"],
  [`jobs schedule --hub ${HUB} --api-token tmk_x`, "it takes a name and a job"],
  [`jobs pause --hub ${HUB} --api-token tmk_x`, "it takes the name of one queue"],
  ["jobs list", "it says which hub has the jobs"],
  [`jobs queues --hub ${HUB}`, "it needs an API token"],
  [`jobs queues --hub ${HUB} --api-token tmj_x`, "a join token is for nodes"],
  [`jobs submit --hub ${HUB} --api-token tmk_x`, "tidemark jobs submit -- python train.py"],
  [`jobs submit --hub ${HUB} --api-token tmk_x --env A -- true`, "KEY=VALUE"],
  [`jobs cancel --hub ${HUB} --api-token tmk_x`, "it takes ids of jobs, or filters"],
  ["save", "it takes one folder or file"],
  ["save a b", "it takes one folder or file"],
  ["save . --step many", "a whole number"],
  ["save . --priority urgent", "low, normal or high"],
  ["save . --run a/b", "--run"],
  ["save .", "--hub or --to says where to save to"],
  ["runs", "--to s3://bucket/prefix"],
  ["runs --to /somewhere", "s3://bucket/prefix"],
  ["restore", "tidemark restore RUN[@STEP|@final] DIR"],
  ["restore llama@last x", "it is no run, or no run@step"],
  ["restore llama x --only [a", "a [ is never closed"],
  ["restore llama x --tensors a{b", "a { is never closed"],
  ["restore llama x --rank 8/8", "a rank looks like 0/8"],
  ["restore llama x --rank first", "a rank looks like 0/8"],
  [`agent --hub ${HUB} --token x --watch here --restore-to there`, "it is no absolute folder"],
  ["status now", "status takes flags only"],
  ["pause a b", "tidemark pause [RUN[@STEP]]"],
  ["resume a@b", "it is no run, or no run@step"],
  ["retry a b", "tidemark retry [RUN[@STEP]]"],
  ["cancel", "tidemark cancel RUN[@STEP]|--all"],
  ["cancel a --all", "tidemark cancel RUN[@STEP]|--all"],
  ["cp", "tidemark cp SRC DST"],
  ["cp a", "tidemark cp SRC DST"],
  ["cp a b c", "tidemark cp SRC DST"],
  ["cp a b", "at least one is s3://bucket/key"],
  ["cp ftp://a b", "s3://bucket/key"],
  ["cp s3:// b", "the bucket is missing"],
  ["cp s3://bucket/key b", "AWS_ACCESS_KEY_ID"],
  ["cp --part-size 1X a s3://bucket/key", "--part-size 1X"],
  ["cp --memory 8MiB a s3://bucket/key", "at least 32M: the program itself needs more"],
  ["cp --concurrency 0 a s3://bucket/key", "1 to 256"],
  ["cp --limit-up quick a s3://bucket/key", "a limit looks like"],
  ["cp --household 99% a s3://bucket/key", "1% to 95%"],
  ["cp --time-zone Mars a s3://bucket/key", "Europe/Berlin"],
  ["cp --stall-after 0 a s3://bucket/key", "a time above 0"],
  ["cp --dry-run=perhaps a s3://bucket/key", "on or off"],
  ["cp --region a --region b a s3://bucket/key", "it was given twice"],
  ["sync a", "tidemark sync SRC DST"],
  ["sync a b", "s3://bucket/folder"],
  ["sync - s3://bucket/a", "use cp for stdin"],
  ["sync --max-delete many a s3://bucket/a", "a whole number"],
  ["check a", "tidemark check SRC DST"],
  ["check --download --size-only a s3://bucket/a", "it contradicts --size-only"],
  ["ls folder", "s3://bucket/key"],
  ["ls s3://a s3://b", "it takes one address"],
  ["ls -z", "-z: "],
  ["ls --max-age old s3://bucket", "a duration looks like"],
  ["cat", "tidemark cat s3://bucket/key"],
  ["cat s3://bucket", "the key is missing"],
  ["cat --offset -1 s3://bucket/key", "--offset -1"],
  ["inspect", "tidemark inspect FILE"],
  ["inspect a b", "it takes one file"],
  ["inspect s3://bucket", "the key is missing"],
  ["inspect s3://bucket/key", "AWS_ACCESS_KEY_ID"],
  ["inspect .", "it is no file"],
  ["rm", "tidemark rm s3://bucket/key"],
  ["rm folder", "it takes an address in a bucket"],
  ["rm s3://bucket/a s3://bucket/b", "it takes one address"],
  ["presign s3://bucket", "the key is missing"],
  ["presign --method POST s3://bucket/key", "GET or PUT"],
  ["presign --expires 8d s3://bucket/key", "seven days"],
  ["probe folder", "s3://bucket"],
  ["probe s3://a s3://b", "it takes one address"],
  ["probe s3://a --min-up quick", "--min-up quick"],
  ["probe s3://a --probe-time 0", "a link shows nothing in no time"],
  ["probe s3://a --attempts 0", "1 to 256"],
  ["bench", "tidemark bench s3://bucket/key"],
  ["bench --rounds 2", "--profile NAME"],
  ["bench folder", "tidemark bench s3://bucket/key"],
  ["bench s3://bucket/a --engines curl", "tidemark, tidemark-auto, sdk"],
  ["bench s3://bucket/a --directions sideways", "up, down or both"],
  ["bench s3://bucket/a --engines aria2 --directions up", "aria2 cannot do that"],
  ["bench s3://bucket/a --preset fast", "guide, storj-1gb"],
  ["bench s3://bucket/a --size 10", "less than 1 MB shows nothing"],
  ["bench s3://bucket/a --part-size 10", "parts are 5 MiB or longer, because S3 refuses shorter ones"],
  ["bench s3://bucket/a --rounds 0", "1 to 256"],
  ["bench s3://bucket/a --time-limit 0", "nothing is done in no time"],
  ["bench s3://bucket/a --seed first", "a whole number"],
  ["bench s3://bucket/a --profile east", "no profile of this name"],
  ["bench --profile east", "this machine has not joined a hub"],
  ["bench --profile east --region us-east-1", "with --profile the hub knows the store"],
  ["bench --profile east --rounds 21", "--rounds: The input is not valid (through a hub: Too big"],
  ["bench --profile east --size 21GB", "--size: The input is not valid (through a hub: Too big"],
  ["limit fast", "limit takes flags only"],
  ["limit --up", "--up LIMIT"],
  ["limit --down quick", "a limit looks like"],
  ["doctor folder", "s3://bucket/key"],
  ["doctor s3://a s3://b", "it takes one address"],
  ["doctor --recursive", "doctor has no such flag"],
  ["completion", "bash, zsh or fish"],
  ["completion bahs", "did you mean bash?"],
  ["config sycn", "did you mean sync?"],
  ["config cp sync", "config takes one word"],
  ["version now", "version takes flags only"],
  ["version --jsn", "did you mean --json?"],
  ["help cpy", "did you mean cp?"],
  ["help cp sync", "help takes one word"],
  ["agnet", "did you mean agent?"],
  ["--verison", "did you mean version?"],
  ["upload", "`tidemark help` lists them"],
];

const AT_A_TIME = 3;
let dir: string;
const outcomes = new Map<string, Awaited<ReturnType<typeof runOnce>>>();

beforeAll(async () => {
  await build("dist/tidemark.mjs");
  dir = mkdtempSync(join(tmpdir(), "tidemark-bad-"));
  writeFileSync(join(dir, "file"), "");
  // Nothing of whoever runs this may answer for what is missing.
  const nothing = Object.fromEntries(
    Object.keys(process.env)
      .filter((name) => /^(AWS|TIDEMARK)_/.test(name))
      .map((name) => [name, ""]),
  );
  const env = { ...nothing, TIDEMARK_STATE: join(dir, "state"), HOME: dir };
  const rest = [...ROWS];
  const work = async () => {
    for (let row = rest.shift(); row !== undefined; row = rest.shift()) {
      const [line] = row;
      outcomes.set(line, await runOnce("dist/tidemark.mjs", line.split(" "), { env }));
    }
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, work));
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

test.each(ROWS)("tidemark %s", (line, says) => {
  const outcome = outcomes.get(line);
  expect(outcome).toMatchObject({ code: FAULTS.BAD_INPUT.exit, stdout: "" });
  expect(outcome?.stderr).toContain(says);
  expect(outcome?.stderr).toMatch(/^tidemark: .+\.\n$/);
});

test("every command is among them", () => {
  const commands = [...readFileSync(join(ROOT, "docs/cli.md"), "utf8").matchAll(/^## tidemark (\S+)$/gm)];
  const tried = new Set(ROWS.map(([line]) => line.split(" ")[0]));
  expect(commands.length).toBeGreaterThan(10);
  expect(commands.map(([, name]) => name).filter((name) => !tried.has(name))).toEqual([]);
});

test("none of them left anything behind but an empty folder for the state", () => {
  const left = readdirSync(dir, { recursive: true, encoding: "utf8" });
  expect(left.filter((name) => name !== "file" && name !== "state")).toEqual([]);
});
