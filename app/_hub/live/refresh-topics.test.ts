import { QueryClient } from "@tanstack/react-query";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createRefresh } from "./refresh-topics.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

function watched() {
  const client = new QueryClient();
  const asked: unknown[] = [];
  vi.spyOn(client, "invalidateQueries").mockImplementation(async (filters) => {
    asked.push(filters?.queryKey?.[0]);
  });
  return { refresh: createRefresh(client), asked };
}

test("a list that changed is asked for at once, and once more when it went on changing", () => {
  const { refresh, asked } = watched();
  refresh(["transfers"]);
  expect(asked).toEqual(["transfers"]);
  for (let second = 0; second < 2; second++) {
    vi.advanceTimersByTime(900);
    refresh(["transfers", "alerts"]);
  }
  expect(asked).toEqual(["transfers", "alerts"]);
  vi.advanceTimersByTime(200);
  expect(asked).toEqual(["transfers", "alerts", "transfers"]);
  vi.advanceTimersByTime(60_000);
  expect(asked).toEqual(["transfers", "alerts", "transfers", "alerts"]);
});

test("a topic may stand for several lists", () => {
  const { refresh, asked } = watched();
  refresh(["checkpoints"]);
  expect(asked).toEqual(["runs", "checkpoints"]);
});
