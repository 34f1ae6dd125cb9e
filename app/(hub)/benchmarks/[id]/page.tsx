import type { Metadata } from "next";
import { BenchView } from "./bench-view.tsx";

export const metadata: Metadata = { title: "Benchmark" };

export default async function BenchmarkPage({ params }: { params: Promise<{ id: string }> }) {
  const { id } = await params;
  return <BenchView id={decodeURIComponent(id)} />;
}
