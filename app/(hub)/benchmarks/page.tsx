import type { Metadata } from "next";
import { BenchmarksView } from "./benchmarks-view.tsx";

export const metadata: Metadata = { title: "Benchmarks" };

export default function BenchmarksPage() {
  return <BenchmarksView />;
}
