import type { Metadata } from "next";
import { FirstRun } from "./first-run.tsx";

export const metadata: Metadata = { title: "First run" };

export default function FirstRunPage() {
  return <FirstRun />;
}
