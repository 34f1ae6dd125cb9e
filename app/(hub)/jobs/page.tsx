import type { Metadata } from "next";
import { JobsView } from "./jobs-view.tsx";

export const metadata: Metadata = { title: "Jobs" };

export default function JobsPage() {
  return <JobsView />;
}
