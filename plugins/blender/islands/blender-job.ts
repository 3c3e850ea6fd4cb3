/** Updates the page of a waiting or running job. Without this script the viewer reloads the page. */
const live = document.querySelector<HTMLElement>('[data-job-events]')
const bar = live?.querySelector('progress')
const stage = live?.querySelector<HTMLElement>('[role="status"]')

if (live && bar && stage) {
  const source = new EventSource(live.dataset.jobEvents ?? '')
  source.addEventListener('job', (event) => {
    const job = JSON.parse((event as MessageEvent<string>).data)
    bar.value = job.progress
    stage.textContent =
      job.status === 'queued' ? `Waiting, number ${job.queuePosition ?? 1} in the queue` : (job.stage ?? job.status)
    if (job.status !== 'queued' && job.status !== 'running') {
      source.close()
      location.reload()
    }
  })
}
