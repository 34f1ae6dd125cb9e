import type { QueryClient } from "@tanstack/react-query";
import type { StaleTopic } from "#protocol/wire/views.ts";

const KEYS: Record<StaleTopic, readonly (readonly string[])[]> = {
  profiles: [["profiles"]],
  tokens: [["tokens"]],
  runs: [["runs"]],
  checkpoints: [["runs"], ["checkpoints"]],
  transfers: [["transfers"]],
  events: [["events"]],
  account: [["account"]],
  commands: [["commands"]],
  benchmarks: [["benchmarks"]],
  jobs: [["jobs"]],
  groups: [["groups"]],
  alerts: [["alerts"]],
};

const REFRESH_EVERY_MS = 2_000;

/**
 * Returns a function that refetches changed lists: at once, then every two seconds while they keep changing. The limit matters
 * in large fleets, where transfers end all the time.
 */
export function createRefresh(client: QueryClient): (topics: readonly StaleTopic[]) => void {
  const resting = new Map<StaleTopic, { isStale: boolean }>();
  const refresh = (topic: StaleTopic): void => {
    const rest = { isStale: false };
    resting.set(topic, rest);
    for (const key of KEYS[topic]) void client.invalidateQueries({ queryKey: [...key] });
    setTimeout(() => {
      resting.delete(topic);
      if (rest.isStale) refresh(topic);
    }, REFRESH_EVERY_MS);
  };
  return (topics) => {
    for (const topic of topics) {
      const rest = resting.get(topic);
      if (rest === undefined) refresh(topic);
      else rest.isStale = true;
    }
  };
}
