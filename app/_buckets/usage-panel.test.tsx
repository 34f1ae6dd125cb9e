import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { renderToStaticMarkup } from "react-dom/server";
import { expect, it } from "vitest";
import { bucketVersionsQuery, usageQuery } from "../_hub/queries/queries.ts";
import { UsagePanel } from "./usage-panel.tsx";

const usage = {
  at: 0,
  stored: { bytes: 0, objects: 0, checkpoints: 0, trashedBytes: 0 },
  runs: [],
  others: { runs: 0, bytes: 0, objects: 0 },
  days: [],
  moved: { days: 1, upBytes: 0, downBytes: 0, writes: 0, reads: 0 },
  cost: null,
};

it.each([
  [true, true],
  [false, false],
])("the panel of a bucket whose versioning is %j says that old versions are not in its numbers: %j", (keeps, says) => {
  const client = new QueryClient();
  client.setQueryData(usageQuery("profile-0001").queryKey, usage);
  client.setQueryData(bucketVersionsQuery("profile-0001").queryKey, { keepsVersions: keeps });
  const html = renderToStaticMarkup(
    <QueryClientProvider client={client}>
      <UsagePanel profileId="profile-0001" />
    </QueryClientProvider>,
  );
  expect(html).toContain("Usage and cost");
  expect(html.includes("deleted objects may still be stored and cost money")).toBe(says);
});
