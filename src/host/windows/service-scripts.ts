import { windowsScript } from './powershell.ts';

/**
 * `{name}` -> `{exists, state, startMode, pid, startedAt, path}`. The values of Win32_Service (CIM) are English in
 * every language of Windows: Running, Stopped, Start Pending, …; Auto, Manual, Disabled. Times are RFC 3339, UTC.
 */
export const SERVICE_STATE = windowsScript(
  'service-state',
  `
$service = Get-CimInstance -ClassName Win32_Service -Filter ("Name='" + ($request.name -replace "[\\\\']", '\\$0') + "'")
if ($null -eq $service) { $answer = @{ exists = $false } }
else {
  $startedAt = $null
  if ($service.ProcessId -gt 0) {
    $process = Get-CimInstance -ClassName Win32_Process -Filter ('ProcessId=' + $service.ProcessId)
    if ($null -ne $process) { $startedAt = $process.CreationDate.ToUniversalTime().ToString('o') }
  }
  $answer = @{ exists = $true; state = $service.State; startMode = $service.StartMode; pid = $service.ProcessId; startedAt = $startedAt; path = $service.PathName }
}
`,
  { reads: true },
);

/**
 * `{name, action, seconds}` -> `{state, startMode}`, read back after it. Actions: start, stop, restart, and the start
 * types Automatic, Manual, Disabled. It waits until the service has the wanted state. Dependent services stop with it,
 * as the kubelet does with containerd: a restart starts them again.
 */
export const CHANGE_SERVICE = windowsScript(
  'change-service',
  `
$controller = Get-Service -Name ([Management.Automation.WildcardPattern]::Escape($request.name)) -ErrorAction SilentlyContinue
if ($null -eq $controller) { throw ('there is no service ' + $request.name) }
$dependents = @($controller.DependentServices | Where-Object { $_.Status -eq 'Running' })
$patience = [TimeSpan]::FromSeconds($request.seconds)
if ($request.action -eq 'stop' -or $request.action -eq 'restart') {
  if ($controller.Status -ne 'Stopped') { Stop-Service -InputObject $controller -Force }
  $controller.WaitForStatus('Stopped', $patience)
}
if ($request.action -eq 'start' -or $request.action -eq 'restart') {
  if ($controller.Status -ne 'Running') { Start-Service -InputObject $controller }
  $controller.WaitForStatus('Running', $patience)
}
if ($request.action -eq 'restart') {
  foreach ($dependent in $dependents) { Start-Service -InputObject $dependent; $dependent.WaitForStatus('Running', $patience) }
}
if ('Automatic', 'Manual', 'Disabled' -contains $request.action) { Set-Service -Name $request.name -StartupType $request.action }
$service = Get-CimInstance -ClassName Win32_Service -Filter ("Name='" + ($request.name -replace "[\\\\']", '\\$0') + "'")
$answer = @{ state = $service.State; startMode = $service.StartMode }
`,
);

/** `{name, lines}` -> texts that the service control manager logged about a service, oldest first. */
export const SERVICE_EVENTS = windowsScript(
  'service-events',
  `
$pattern = [regex]::Escape($request.name)
$events = @(Get-WinEvent -FilterHashtable @{ LogName = 'System'; ProviderName = 'Service Control Manager' } -MaxEvents 500 -ErrorAction SilentlyContinue |
  Where-Object { $_.Message -match $pattern } | Select-Object -First $request.lines)
[array]::Reverse($events)
$answer = @($events | ForEach-Object { $_.TimeCreated.ToUniversalTime().ToString('o') + ' ' + ($_.Message -replace '\\s+', ' ') })
`,
  { reads: true },
);
