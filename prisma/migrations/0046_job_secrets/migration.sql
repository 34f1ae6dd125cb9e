-- Sealed secrets of jobs.
CREATE TABLE "JobSecret" (
    "jobId" TEXT NOT NULL PRIMARY KEY,
    "sealed" TEXT NOT NULL,
    "keyVersion" INTEGER NOT NULL,
    CONSTRAINT "JobSecret_jobId_fkey" FOREIGN KEY ("jobId") REFERENCES "Job" ("id") ON DELETE CASCADE ON UPDATE CASCADE
);
