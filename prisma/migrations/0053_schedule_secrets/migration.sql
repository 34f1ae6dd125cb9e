-- Sealed secrets of the jobs of schedules.
CREATE TABLE "JobScheduleSecret" (
    "scheduleId" TEXT NOT NULL PRIMARY KEY,
    "names" TEXT NOT NULL,
    "sealed" TEXT NOT NULL,
    "keyVersion" INTEGER NOT NULL,
    CONSTRAINT "JobScheduleSecret_scheduleId_fkey" FOREIGN KEY ("scheduleId") REFERENCES "JobSchedule" ("id") ON DELETE CASCADE ON UPDATE CASCADE
);
