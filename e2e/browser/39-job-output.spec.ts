import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, expectSound, openSignedIn, test } from "./story.ts";

/** The output of a job: it appears while the program runs, is searched, and stays when the attempt is over. */

test("a person watches the output of a running job, finds a line in it, and reads it after the end", async ({
  page,
  stage,
}) => {
  const go = join(stage.dir, "go");
  const script = `printf '10%%\\r100%%\\n'; for i in $(seq 1 400); do echo "step $i loss 0.$i"; done
echo "CUDA error: out of memory" >&2; until test -e '${go}'; do sleep 0.2; done; echo "the last line"`;
  const job = { name: "talks", queue: "talk", command: "sh", arguments: ["-c", script] };
  const { jobs } = await stage.client.jobs.submit.mutate({ jobs: [job] });
  const worker = await stage.startNode({
    name: "talker",
    queue: "talk",
    flags: ["--work-folder", join(stage.dir, "w")],
  });
  await openSignedIn(page, stage);
  await page.goto(`${stage.hub.url}/jobs/${jobs[0]?.id ?? ""}`);
  const output = page.getByRole("region", { name: "Output", exact: true });
  const lines = output.getByRole("region", { name: "Program output" });
  await expect(lines).toContainText("CUDA error: out of memory");
  await expect(lines).toContainText("100%");
  await expect(lines).not.toContainText("10%1");
  await expect(output.getByText("New output appears here.")).toBeVisible();
  await expectSound(page);

  await output.getByRole("searchbox", { name: "Find in the output" }).fill("cuda");
  const found = output.getByRole("region", { name: "Lines that were found" });
  await expect(found).toHaveText("CUDA error: out of memory");
  await expect(output.getByText("One line", { exact: true })).toBeVisible();
  await expect(page).toHaveURL(/find=cuda/);
  await expectSound(page);
  await output.getByRole("searchbox", { name: "Find in the output" }).fill("");

  writeFileSync(go, "");
  await expect(lines).toContainText("the last line");
  await expect(output.getByText("The attempt is over.")).toBeVisible();
  await expect(output.getByText(/^all .* kept$/)).toBeVisible();
  await worker.stop();
  await page.reload();
  await expect(lines).toContainText("step 400 loss 0.400");
  await expectSound(page);
});
