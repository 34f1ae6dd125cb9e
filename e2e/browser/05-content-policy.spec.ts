import { runName } from "#protocol/base/names.ts";
import { enrolRogue } from "../stage/rogue-node.ts";
import { tellBenchmark } from "../stage/tell-benchmark.ts";
import { waitComplete } from "../stage/wait-complete.ts";
import { writeCheckpoint } from "../stage/write-checkpoint.ts";
import { expect, openSignedIn, test } from "./story.ts";
import { screensOf } from "./screens.ts";

test.use({ expectedErrors: [/404|Executing inline event handler/] });

test("every page runs under its content security policy, with a nonce of its own and nothing inline", async ({
  page,
  stage,
}) => {
  const run = runName.parse("llama-8b");
  await stage.startNode({ name: "gpu-1", run });
  const folder = stage.folderOf("gpu-1");
  writeCheckpoint({ folder, step: 500, modelBytes: 2 * 1024 ** 2, optimizerBytes: 0, loss: 1.5 });
  const checkpoint = await waitComplete(stage, run);
  const measured = await enrolRogue(stage, { name: "gpu-2" });
  const benchmark = await tellBenchmark(stage, measured, { bytesPerSecond: 2_500_000, rttMs: 190 });
  const before = await tellBenchmark(stage, measured, { bytesPerSecond: 2_000_000, rttMs: 190 });
  const violations: string[] = [];
  await page.exposeFunction("tellViolation", (text: string) => violations.push(text));
  await page.addInitScript(() => {
    document.addEventListener("securitypolicyviolation", (event) => {
      const tell: unknown = Reflect.get(globalThis, "tellViolation");
      if (typeof tell === "function") tell(`${event.violatedDirective} ${event.blockedURI} ${event.sample}`);
    });
  });
  const nonces = new Set<string>();
  const visit = async (path: string) => {
    const answer = await page.goto(stage.hub.url + path);
    const headers = answer?.headers() ?? {};
    const policy = headers["content-security-policy"] ?? "";
    expect(policy, path).toContain("frame-ancestors 'none'");
    expect(policy, path).not.toMatch(/unsafe-inline|unsafe-eval|\*/);
    expect(headers["x-frame-options"], path).toBe("DENY");
    nonces.add(/'nonce-([^']+)'/.exec(policy)?.[1] ?? "none");
    await expect(page.locator("h1").first(), path).toBeVisible();
  };
  const doors = ["/sign-in", "/first-run", "/invitation#tmi_code", "/reset-password#tmr_code"];
  for (const path of doors) await visit(path);
  await openSignedIn(page, stage);
  const screens = [
    ...screensOf(checkpoint),
    "/alerts?show=rules&rule=new",
    "/alerts?show=channels&channel=new",
    "/advice?show=thresholds",
    `/benchmarks/${benchmark}?with=${before}`,
    "/no-such-page",
  ];
  for (const path of screens) await visit(path);
  expect(violations).toEqual([]);
  expect(nonces.size).toBe(doors.length + screens.length);

  // The policy is not only sent: what it forbids does not happen.
  const wasRun = await page.evaluate(() => {
    const script = document.createElement("div");
    script.innerHTML = `<img src="data:," onerror="globalThis.wasRun = true">`;
    document.body.append(script);
    return new Promise((resolve) => setTimeout(() => resolve(Reflect.get(globalThis, "wasRun") === true), 200));
  });
  expect(wasRun).toBe(false);
  await expect.poll(() => violations.length).toBeGreaterThan(0);

  const image = await page.request.get(`${stage.hub.url}/_next/image?url=http%3A%2F%2F169.254.169.254%2F&w=64&q=75`);
  expect(image.status()).toBe(404);
});
