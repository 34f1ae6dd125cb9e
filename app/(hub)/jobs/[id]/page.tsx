import type { Metadata } from "next";
import { JobView } from "./job-view.tsx";

export const metadata: Metadata = { title: "Job" };

export default async function JobPage({ params }: { params: Promise<{ id: string }> }) {
  return <JobView id={decodeURIComponent((await params).id)} />;
}
