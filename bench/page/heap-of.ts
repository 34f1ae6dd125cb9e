import type { Page } from "@playwright/test";

/** Returns a page's JavaScript heap after a garbage collection, and the number of its DOM nodes. */
export async function heapOf(page: Page): Promise<{ heapMb: number; domNodes: number }> {
  const session = await page.context().newCDPSession(page);
  await session.send("Performance.enable");
  await session.send("HeapProfiler.collectGarbage");
  const { metrics } = await session.send("Performance.getMetrics");
  await session.detach();
  const valueOf = (name: string): number => metrics.find((one) => one.name === name)?.value ?? 0;
  return { heapMb: valueOf("JSHeapUsedSize") / 1e6, domNodes: valueOf("Nodes") };
}
