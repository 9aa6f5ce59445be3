<#
.SYNOPSIS
  Checks on a real Windows Server what machineadm believes of it, clause by clause: the ids are those of docs/windows.md.

.DESCRIPTION
  Prints TAP: "ok ID", "not ok ID" with what was found, or "ok ID # SKIP" with what to give or to do. Exits with the number of
  clauses that do not hold. Without -Changes nothing is changed but files and registry keys of its own, which it removes.

.PARAMETER Agent
  machineadm.exe for Windows.
.PARAMETER Domain
  The DNS name of an Active Directory domain that this machine can reach.
.PARAMETER Document
  A document for this machine. With -Changes it is provisioned: the machine may be renamed, joined and rebooted. Run this
  script again afterwards for the clauses about a node.
.PARAMETER Changes
  Allows clauses that change the machine.

.EXAMPLE
  powershell.exe -ExecutionPolicy Bypass -File windows-smoke.ps1 -Domain corp.example.com -Document C:\ProgramData\machineadm\bootstrap.yaml
#>
#Requires -Version 5.1
#Requires -RunAsAdministrator
param(
  [string]$Agent = 'C:\k\machineadm.exe',
  [string]$Domain,
  [string]$Document,
  [switch]$Changes
)

$ErrorActionPreference = 'Stop'
$script:failures = 0
$scratch = Join-Path $env:SystemDrive 'machineadm-smoke'

# One clause: the block returns $true, or what it found instead.
function Clause([string]$Id, [string]$What, [scriptblock]$Check) {
  try { $found = & $Check } catch { $found = $_.Exception.Message }
  if ($found -is [array]) { $found = $found[-1] }
  if ($found -eq $true) { Write-Output "ok $Id - $What"; return }
  if ("$found" -like 'SKIP *') { Write-Output ("ok $Id # SKIP " + "$found".Substring(5)); return }
  $script:failures += 1
  Write-Output "not ok $Id - $What"
  foreach ($line in ("$found" -split "`r?`n")) { Write-Output "  # $line" }
}

function ByHand([string]$Id, [string]$What) { Write-Output "ok $Id # SKIP by hand: $What" }

# Runs a script as machineadm does: encoded, with its input on standard input.
function Invoke-Encoded([string]$Text, [string]$InputText) {
  $encoded = [Convert]::ToBase64String([Text.Encoding]::Unicode.GetBytes($Text))
  $start = [Diagnostics.ProcessStartInfo]::new("$env:SystemRoot\System32\WindowsPowerShell\v1.0\powershell.exe")
  $start.Arguments = "-NoLogo -NoProfile -NonInteractive -ExecutionPolicy Bypass -EncodedCommand $encoded"
  $start.UseShellExecute = $false
  $start.RedirectStandardInput = $true
  $start.RedirectStandardOutput = $true
  $process = [Diagnostics.Process]::Start($start)
  $process.StandardInput.Write($InputText)
  $process.StandardInput.Close()
  $said = $process.StandardOutput.ReadToEnd()
  $process.WaitForExit()
  return $said.Trim()
}

function Node { Test-Path 'C:\etc\kubernetes\kubelet.conf' }

New-Item -ItemType Directory -Force $scratch | Out-Null
try {
  # The host.

  Clause 'H1' 'an encoded script reads its standard input' {
    $said = Invoke-Encoded '[Console]::Out.WriteLine([Console]::In.ReadToEnd().Trim().ToUpper())' '{"a":"b"}'
    if ($said -eq '{"A":"B"}') { $true } else { "it said: $said" }
  }

  Clause 'H2' 'a descriptor that was set comes back, and a rename keeps it' {
    $file = Join-Path $scratch 'h2'
    Set-Content $file 'x'
    $security = [Security.AccessControl.FileSecurity]::new()
    $security.SetSecurityDescriptorSddlForm('O:BAG:SYD:PAI(A;;FA;;;SY)(A;;FA;;;BA)')
    [IO.File]::SetAccessControl($file, $security)
    Move-Item -Force $file "$file-moved"
    $sddl = (Get-Acl "$file-moved").Sddl
    if ($sddl -eq 'O:BAG:SYD:PAI(A;;FA;;;SY)(A;;FA;;;BA)') { $true } else { $sddl }
  }

  Clause 'H3' 'a directory has its descriptor from the first instant' {
    $security = [Security.AccessControl.DirectorySecurity]::new()
    $security.SetSecurityDescriptorSddlForm('O:BAG:SYD:PAI(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)')
    $made = [IO.Directory]::CreateDirectory((Join-Path $scratch 'h3'), $security)
    $sddl = (Get-Acl $made.FullName).Sddl
    if ($sddl -eq 'O:BAG:SYD:PAI(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)') { $true } else { $sddl }
  }

  Clause 'H4' 'a file that is open without sharing cannot be opened again' {
    $held = [IO.File]::Open((Join-Path $scratch 'h4'), 'OpenOrCreate', 'ReadWrite', 'None')
    try { [IO.File]::Open((Join-Path $scratch 'h4'), 'Open', 'ReadWrite', 'None').Dispose(); 'it was opened twice' }
    catch [IO.IOException] { $true }
    finally { $held.Dispose() }
  }

  ByHand 'H5' 'provision a document with another host.hostname: one reboot, and the machine has the name; the same within a domain fails as HostnameNotEffective'

  Clause 'H6' 'the session manager tells the boot, whatever the clock does' {
    $first = (Get-CimInstance Win32_Process -Filter "Name='smss.exe'" | Sort-Object CreationDate | Select-Object -First 1).CreationDate
    if ($null -eq $first) { return 'smss.exe has no creation date' }
    if (-not $Changes) { return 'SKIP give -Changes: the clock is set 1 h ahead and back' }
    Set-Date -Adjust '01:00:00' | Out-Null
    try { $later = (Get-CimInstance Win32_Process -Filter "Name='smss.exe'" | Sort-Object CreationDate | Select-Object -First 1).CreationDate }
    finally { Set-Date -Adjust '-01:00:00' | Out-Null }
    if ($later -eq $first) { $true } else { "$first became $later" }
  }

  Clause 'H7' 'w32tm prints an offset in its words of numbers' {
    if (-not $Domain) { return 'SKIP give -Domain' }
    $said = & w32tm.exe /stripchart "/computer:$Domain" /samples:1 /dataonly
    if ("$($said | Select-Object -Last 1)" -match ',\s*[+-]\d+[.,]\d+s\s*$') { $true } else { $said -join "`n" }
  }

  ByHand 'H8' 'provision with host.proxy for containerd, then: (Get-Process containerd) restarted, and an image is pulled through the proxy'

  ByHand 'H9' 'provision with host.certificateAuthorities, then: Get-ChildItem Cert:\LocalMachine\Root | Where-Object FriendlyName -like "machineadm *"'

  Clause 'H10' 'the words of services are English in every language' {
    $service = Get-CimInstance Win32_Service -Filter "Name='W32Time'"
    $states = 'Running', 'Stopped', 'Start Pending', 'Stop Pending', 'Paused'
    if ($states -contains $service.State -and ('Auto', 'Manual', 'Disabled') -contains $service.StartMode) { $true }
    else { "$($service.State), $($service.StartMode)" }
  }

  ByHand 'H11' 'provision the hooks of docs/windows.md, and one that ends with "exit 7" in each shell: HookFailed names the entry'
  ByHand 'H12' 'kill machineadm.exe (taskkill /F) within a hook that starts ping -t, provision again: ping is gone'

  Clause 'H13' 'the cache of the volume is flushed' {
    Write-VolumeCache -DriveLetter $env:SystemDrive.Substring(0, 1)
    $true
  }

  Clause 'H14' 'containerd listens at its pipe' {
    if (Test-Path '\\.\pipe\containerd-containerd') { $true } else { 'SKIP containerd does not run here' }
  }

  # The domain.

  Clause 'D1' 'a join answers with a number of Win32' {
    if (-not $Changes) { return 'SKIP give -Changes: a join of a domain that does not exist is tried' }
    if ((Get-CimInstance Win32_ComputerSystem).PartOfDomain) { return 'SKIP this machine is a member already' }
    $arguments = @{ Name = 'no-such-domain.invalid'; FJoinOptions = [uint32]3; UserName = 'a@no-such-domain.invalid'; Password = 'b' }
    $answer = Invoke-CimMethod -InputObject (Get-CimInstance Win32_ComputerSystem) -MethodName JoinDomainOrWorkgroup -Arguments $arguments
    if ($answer.ReturnValue -eq 1355) { $true } else { "it answered $($answer.ReturnValue), and not 1355" }
  }

  ByHand 'D2' 'provision with credentials {user, password}, {oneTimePassword} and {offlineBlob}, each on a fresh machine: one reboot, then a member'
  ByHand 'D3' 'the failures of docs/windows.md (wrong password, disabled, locked, expired, no rights, quota, OU, existing account, KB5020276): each with its reason'

  Clause 'D4' 'nltest finds a controller, in words that are not translated' {
    if (-not $Domain) { return 'SKIP give -Domain' }
    $said = (& nltest.exe "/dsgetdc:$Domain" /force) -join "`n"
    if ($LASTEXITCODE -eq 0 -and $said -match '(?m)^\s*DC: \\\\\S+\s*$' -and $said -match '(?m)^\s*Address: \\\\\S+\s*$') { $true } else { $said }
  }

  Clause 'D5' 'nltest says why it finds none with a number' {
    $said = (& nltest.exe '/dsgetdc:no-such-domain.invalid' /force 2>&1) -join "`n"
    if ($said -match 'Status = 1355 0x54b') { $true } else { $said }
  }

  Clause 'D6' 'the channel of a member is verified in words that are not translated' {
    if (-not (Get-CimInstance Win32_ComputerSystem).PartOfDomain) { return 'SKIP this machine is no member' }
    $own = (Get-CimInstance Win32_ComputerSystem).Domain
    $said = (& nltest.exe "/sc_verify:$own") -join "`n"
    if ($LASTEXITCODE -eq 0 -and $said -match 'Trust Verification Status = 0 0x0 NERR_Success' -and (Test-ComputerSecureChannel)) { $true } else { $said }
  }

  Clause 'D7' 'a login that is refused over LDAP carries its own number' {
    if (-not $Domain) { return 'SKIP give -Domain' }
    try {
      $root = [DirectoryServices.DirectoryEntry]::new("LDAP://$Domain", "machineadm-no-such-user@$Domain", 'wrong')
      [void][DirectoryServices.DirectorySearcher]::new($root, '(objectClass=computer)').FindOne()
      'the login was taken'
    } catch {
      $cause = $_.Exception.GetBaseException()
      $code = $cause.HResult -band 0xffff
      if ($code -eq 1326 -and "$($cause.ExtendedErrorMessage)" -match 'data 52[5e]') { $true } else { "$code $($cause.ExtendedErrorMessage)" }
    }
  }

  ByHand 'D8' 'with module logging on (Policies\Microsoft\Windows\PowerShell\ModuleLogging, *), after a join: no event 4103 or 4104 holds the password'
  ByHand 'D9' 'reset the account of a member in the directory, provision with onBroken: Rejoin and an account: trusted again, without a reboot'

  # Reboots.

  Clause 'R1' 'a task from XML in UTF-16 is registered, and shown with its action' {
    $file = Join-Path $scratch 'r1.xml'
    $xml = '<?xml version="1.0" encoding="UTF-16"?><Task version="1.4" xmlns="http://schemas.microsoft.com/windows/2004/02/mit/task"><Triggers><BootTrigger><Enabled>true</Enabled></BootTrigger></Triggers><Principals><Principal id="System"><UserId>S-1-5-18</UserId><RunLevel>HighestAvailable</RunLevel></Principal></Principals><Settings><MultipleInstancesPolicy>IgnoreNew</MultipleInstancesPolicy><DisallowStartIfOnBatteries>false</DisallowStartIfOnBatteries><StopIfGoingOnBatteries>false</StopIfGoingOnBatteries><StartWhenAvailable>true</StartWhenAvailable><ExecutionTimeLimit>PT0S</ExecutionTimeLimit><Enabled>true</Enabled></Settings><Actions Context="System"><Exec><Command>C:\Windows\System32\cmd.exe</Command><Arguments>/c rem &quot;a b&quot;</Arguments></Exec></Actions></Task>'
    [IO.File]::WriteAllText($file, $xml, [Text.UnicodeEncoding]::new($false, $true))
    & schtasks.exe /Create /TN \machineadm\smoke /XML $file /F | Out-Null
    $created = $LASTEXITCODE
    $shown = (& schtasks.exe /Query /TN \machineadm\smoke /XML) -join "`n"
    & schtasks.exe /Delete /TN \machineadm\smoke /F | Out-Null
    if ($created -eq 0 -and $shown.Contains('<Command>C:\Windows\System32\cmd.exe</Command>') -and $shown -match '<Arguments>/c rem ("|&quot;)a b("|&quot;)</Arguments>') { $true } else { "$created`n$shown" }
  }

  Clause 'R2' 'a task that was deleted is not shown' {
    & schtasks.exe /Query /TN \machineadm\no-such-task /XML 2>$null | Out-Null
    if ($LASTEXITCODE -ne 0) { $true } else { 'schtasks.exe ended with 0' }
  }

  ByHand 'R3' 'machineadm ends with 16 and writes its status before shutdown.exe (/r /t 5 /d p:2:4) reboots; the System log has event 1074'
  ByHand 'R4' 'from cloudbase-init with --exit-codes cloudbase-init: it reboots for 1001, \machineadm\resume goes on, and is gone at the end'
  ByHand 'R5' 'in unattend.xml with --exit-codes unattend and WillReboot=OnRequest: 2 reboots and repeats the command'
  ByHand 'R6' 'switch the power off at any point of a provision: the next boot goes on by \machineadm\resume'

  # The node.

  Clause 'K1' 'kubeadm takes a path without a drive for one of C:' {
    if (-not (Test-Path 'C:\k\kubeadm.exe')) { return 'SKIP C:\k\kubeadm.exe is not there' }
    Push-Location C:\
    try { $said = (& C:\k\kubeadm.exe config validate '--config=/machineadm-smoke/k1.yaml' 2>&1) -join "`n" } finally { Pop-Location }
    if ($said -match 'machineadm-smoke[\\/]k1.yaml') { $true } else { $said }
  }

  Clause 'K2' 'the kubelet runs with the arguments that kubeadm left' {
    if (-not (Node)) { return 'SKIP this machine is no node yet' }
    $flags = (Get-Content 'C:\var\lib\kubelet\kubeadm-flags.env') -replace '^KUBELET_KUBEADM_ARGS=', '' -replace '"', ''
    $lines = (Get-CimInstance Win32_Process -Filter "Name='kubelet.exe'").CommandLine -join "`n"
    foreach ($flag in ($flags -split ' ' | Where-Object { $_ })) { if (-not $lines.Contains($flag)) { return "$flag is not in: $lines" } }
    $true
  }

  Clause 'K3' 'the Node is known by host name, number of the boot and firmware' {
    $number = (Get-ItemProperty 'HKLM:\SYSTEM\CurrentControlSet\Control\Session Manager\Memory Management\PrefetchParameters').BootId
    $firmware = (Get-ItemProperty 'HKLM:\SYSTEM\HardwareConfig').LastConfig
    if ("$number" -match '^\d+$' -and $firmware -match '^\{[0-9a-fA-F-]{36}\}$') { $true } else { "$number $firmware" }
  }

  Clause 'K4' 'the sentinel of Cluster API is there, and says success' {
    if (-not (Node)) { return 'SKIP this machine is no node yet' }
    $text = [IO.File]::ReadAllText('C:\run\cluster-api\bootstrap-success.complete')
    if ($text -ceq "success`n") { $true } else { $text }
  }

  Clause 'K5' 'a second run changes nothing' {
    if (-not (Node) -or -not $Document) { return 'SKIP this machine is no node yet, or give -Document' }
    $plan = & $Agent plan -d $Document -o json | ConvertFrom-Json
    if (@($plan.changes).Count -eq 0) { $true } else { ($plan.changes | ForEach-Object { $_.id }) -join "`n" }
  }

  # Diagnosis and reports.

  Clause 'E1' 'wevtutil renders events as XML with their message' {
    $said = (& wevtutil.exe qe System '/q:*[System[(Level=1 or Level=2 or Level=3 or Level=4 or Level=0)]]' /c:1 /rd:true /f:RenderedXml) -join "`n"
    if ($said -match '<Provider\b[^>]*Name=' -and $said -match '<EventID' -and $said -match '<Message>') { $true } else { $said }
  }

  Clause 'E2' 'an entry of the source machineadm is written' {
    if (-not $Changes) { return 'SKIP give -Changes: the source machineadm is made' }
    if (-not [Diagnostics.EventLog]::SourceExists('machineadm')) { [Diagnostics.EventLog]::CreateEventSource('machineadm', 'Application') }
    [Diagnostics.EventLog]::WriteEntry('machineadm', 'smoke', [Diagnostics.EventLogEntryType]'Information', 1)
    if ((Get-WinEvent -FilterHashtable @{ LogName = 'Application'; ProviderName = 'machineadm' } -MaxEvents 1).Message -match 'smoke') { $true } else { 'it is not there' }
  }

  # The binary itself.

  Clause 'A1' 'the binary starts and plans, changing nothing' {
    if (-not $Document) { return 'SKIP give -Document' }
    $said = & $Agent plan -d $Document 2>&1
    if ($LASTEXITCODE -eq 0) { $true } else { $said -join "`n" }
  }

  Clause 'A2' 'the document is provisioned, or reboots to go on' {
    if (-not $Document -or -not $Changes) { return 'SKIP give -Document and -Changes' }
    $said = & $Agent provision -d $Document 2>&1
    if ($LASTEXITCODE -eq 0 -or $LASTEXITCODE -eq 16) { $true } else { "status $LASTEXITCODE`n" + ($said -join "`n") }
  }
} finally {
  Remove-Item -Recurse -Force $scratch -ErrorAction SilentlyContinue
}
exit $script:failures
