"use client";
import { queryOptions } from "@tanstack/react-query";
import { hub } from "../_hub/queries/client.ts";

export const benchmarksQuery = () =>
  queryOptions({ queryKey: ["benchmarks", "list"], queryFn: () => hub.benchmarks.list.query() });
export const benchmarkQuery = (id: string) =>
  queryOptions({ queryKey: ["benchmarks", id], queryFn: () => hub.benchmarks.get.query({ id }), enabled: id !== "" });
export const benchKeysQuery = () =>
  queryOptions({ queryKey: ["benchmarks", "keys"], queryFn: () => hub.benchmarks.keys.query() });
