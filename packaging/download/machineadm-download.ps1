# The twin of machineadm-download.sh for Windows: gets machineadm onto a machine that does not have it, proves that it is the
# one that was meant, puts it in place and runs it with the arguments given. `machineadm wrap --fetch` renders it into user data
# (packages/user-data/src/download-script-windows.ts fills in what is between the marks and drops comments and indentation).
#
# What is trusted is in this text: the SHA-256 of the archive and of the program in it. Where it comes from is not trusted at
# all. Nothing is unpacked before its digest is right, and nothing is executable before that.
#
# For Windows PowerShell 5.1, which every Windows Server since 2016 has; only ASCII, as it reads a file without a mark as the
# machine's own code page. As the system or an administrator: powershell.exe -NoProfile -ExecutionPolicy Bypass -File THIS ARGS
#
# Exit status: that of machineadm, where it came to run it (0 without arguments), or, as in the other one:
#   64  not rendered, or not started as an administrator
#   65  no machineadm of this version for this kind of machine
#   67  no location gave a whole answer before the deadline
#   68  an archive came that is not the one whose digest is known
#   72  no directory to install to
#   73  the right machineadm came, and does not run here (AppLocker, WDAC)
#   74  what lies at its place is not what was verified: it was swapped
#   75  a web page came instead (a captive portal, a login)
#   76  a server leads from https to something else
# A refusal (68, 75, 76) outweighs a location that did not answer.

# --- rendered
$Version = ''
# SHA-256 of the archive, and of the program inside.
$ArchiveDigest = ''
$ProgramDigest = ''
# Each is a base URL and the file with its Authorization header, or -.
$Locations = @()
$Deadline = 900
# --- end of what is rendered

Set-StrictMode -Version Latest
$ErrorActionPreference = 'Stop'
$Clock = [Diagnostics.Stopwatch]::StartNew()
$Directory = Join-Path ([Environment]::GetFolderPath('ProgramFiles')) 'machineadm'
$To = Join-Path $Directory 'machineadm.exe'
$Work = $null
$Code = 67
$Why = 'no location answered'

function Say([string] $Text) {
    [Console]::Error.WriteLine('machineadm-download: ' + ($Text -replace '[^ -~]', ' '))
}

# The serial line, too, as far as there is one and nobody holds it: nothing waits for it longer than two seconds.
function Tell([string] $Text) {
    Say $Text
    try {
        $port = New-Object IO.Ports.SerialPort 'COM1', 115200
        $port.WriteTimeout = 2000
        $port.Open()
        $port.Write("machineadm-download: $Text`r`n")
        $port.Close()
    } catch { }
}

function Clear-Work {
    if ($Work) { Remove-Item -Recurse -Force -LiteralPath $Work -ErrorAction SilentlyContinue }
}

function Die([int] $Status, [string] $Text) {
    Clear-Work
    Tell "$Text [$Status]"
    exit $Status
}

# A location that lied is not asked again.
function Refuse([int] $Status, [string] $Text) {
    $script:Code = $Status
    $script:Refused = $true
    throw $Text
}

function Get-Digest([string] $Path) {
    (Get-FileHash -Algorithm SHA256 -LiteralPath $Path).Hash.ToLowerInvariant()
}

# Opens what the URL leads to. Redirects are followed by hand: never from https to http, and without the credential.
function Open-Url([Uri] $Url, [string] $Authorization) {
    if ($Url.IsFile) { return [IO.File]::OpenRead($Url.LocalPath) }
    for ($hop = 0; $hop -lt 6; $hop++) {
        $request = [Net.WebRequest]::Create($Url)
        $request.AllowAutoRedirect = $false
        $request.Timeout = 20000
        $request.ReadWriteTimeout = 20000
        if ($hop -eq 0 -and $Authorization -ne '-') {
            $request.Headers.Add([IO.File]::ReadAllText($Authorization).Trim())
        }
        $response = $request.GetResponse()
        if ([int] $response.StatusCode -lt 300) { return $response.GetResponseStream() }
        $next = New-Object Uri $Url, $response.Headers['Location']
        $response.Close()
        if ($next.Scheme -ne 'https' -and ($Url.Scheme -eq 'https' -or $next.Scheme -ne 'http')) { Refuse 76 "redirect to $next" }
        $Url = $next
    }
    throw 'too many redirects'
}

# Writes the archive, as much as there is up to a limit, and no longer than the deadline allows.
function Save-Archive([string] $Base, [string] $Authorization, [string] $Path) {
    $from = Open-Url "$Base/$Version/$File" $Authorization
    try {
        $into = [IO.File]::Create($Path)
        try {
            $buffer = New-Object byte[] 65536
            $since = $Clock.Elapsed.TotalSeconds
            $lately = 0
            while (($count = $from.Read($buffer, 0, $buffer.Length)) -gt 0) {
                if ($into.Length -eq 0 -and $buffer[0] -eq 60) { Refuse 75 "$File is a web page" }
                $into.Write($buffer, 0, $count)
                if ($into.Length -gt 268435456) { Refuse 68 "$File is too large" }
                $lately += $count
                $now = $Clock.Elapsed.TotalSeconds
                if ($now -gt $Deadline) { throw 'the deadline passed' }
                if ($now - $since -gt 30) {
                    if ($lately -lt 30720) { throw 'too slow' }
                    $since = $now
                    $lately = 0
                }
            }
        } finally { $into.Dispose() }
    } finally { $from.Dispose() }
    $found = Get-Digest $Path
    if ($found -ne $ArchiveDigest) { Refuse 68 "$File has the SHA-256 $found, not $ArchiveDigest" }
}

# Asks the locations in their order, again and again, with full jitter between the rounds.
function Get-Archive([string] $Path) {
    $left = $Locations
    $ceiling = 2
    $random = [Security.Cryptography.RandomNumberGenerator]::Create()
    while ($true) {
        $rest = @()
        foreach ($location in $left) {
            $base, $authorization = $location -split ' '
            $script:Refused = $false
            try {
                Save-Archive $base $authorization $Path
                return
            } catch {
                $text = "${base}: $($_.Exception.Message)"
                Say "$text (clock: $([DateTime]::UtcNow.ToString('yyyy-MM-dd')))"
                if ($Refused) { $script:Why = $text } else { $rest += $location }
            }
        }
        $left = $rest
        $bytes = New-Object byte[] 2
        $random.GetBytes($bytes)
        $pause = [BitConverter]::ToUInt16($bytes, 0) % $ceiling + 1
        if ($left.Count -eq 0 -or $Clock.Elapsed.TotalSeconds + $pause -ge $Deadline) { Die $Code "failed: $Why" }
        $ceiling = [Math]::Min($ceiling * 2, 60)
        Start-Sleep -Seconds $pause
    }
}

function Expand-Gzip([string] $Archive, [string] $Path) {
    $from = New-Object IO.Compression.GZipStream ([IO.File]::OpenRead($Archive)), ([IO.Compression.CompressionMode]::Decompress)
    try {
        $into = [IO.File]::Create($Path)
        try {
            $from.CopyTo($into)
            $into.Flush($true)
        } finally { $into.Dispose() }
    } finally { $from.Dispose() }
}

function Install-Program([string] $Archive, [string] $New) {
    try { Expand-Gzip $Archive $New } catch { Die 72 "${Directory}: $($_.Exception.Message)" }
    $found = Get-Digest $New
    if ($found -ne $ProgramDigest) { Die 68 "the program in $File has the SHA-256 $found" }
    try { $told = & $New --version } catch { Die 73 "does not run here: $($_.Exception.Message)" }
    if ($told -ne $Version) { Die 73 "does not run here: it says $told, and not $Version" }
    try {
        if ([IO.File]::Exists($To)) { [IO.File]::Replace($New, $To, [NullString]::Value) } else { [IO.File]::Move($New, $To) }
    } catch { Die 72 "$To cannot be replaced: $($_.Exception.Message)" }
    if ((Get-Digest $To) -ne $ProgramDigest) {
        Remove-Item -Force -LiteralPath $To
        Die 74 "$To was swapped after it was verified"
    }
    Tell "installed $To $Version ($ProgramDigest)"
}

if (-not $Version) { Die 64 'not rendered' }
$identity = [Security.Principal.WindowsPrincipal] [Security.Principal.WindowsIdentity]::GetCurrent()
if (-not $identity.IsInRole([Security.Principal.WindowsBuiltInRole]::Administrator)) { Die 64 'not an administrator' }
# A 32-bit PowerShell is told of the machine by the second variable only.
$kind = $env:PROCESSOR_ARCHITEW6432
if (-not $kind) { $kind = $env:PROCESSOR_ARCHITECTURE }
if ($kind -ne 'AMD64') { Die 65 "not for $kind" }
$File = "machineadm-$Version-windows-amd64.exe.gz"

if (-not ([IO.File]::Exists($To) -and (Get-Digest $To) -eq $ProgramDigest)) {
    # Before TLS 1.2 is asked for by name, Windows PowerShell speaks older ones only.
    [Net.ServicePointManager]::SecurityProtocol = [Net.ServicePointManager]::SecurityProtocol -bor [Net.SecurityProtocolType]::Tls12
    try {
        # Below Program Files only administrators may write: nobody else swaps what is verified there.
        $Work = Join-Path $Directory ('.machineadm.' + [Guid]::NewGuid())
        [void] (New-Item -ItemType Directory -Force -Path $Work)
    } catch { Die 72 "${Directory}: $($_.Exception.Message)" }
    $archive = Join-Path $Work 'archive'
    Get-Archive $archive
    Install-Program $archive (Join-Path $Work 'machineadm.exe')
    Clear-Work
}
if ($args.Count -gt 0) {
    & $To @args
    exit $LASTEXITCODE
}
exit 0
